#include "client/cli/help_format.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "client/cli/command.h"

namespace ptrace_prof {
namespace {

constexpr size_t kColumn = 30;

class HelpFormat : public CLI::Formatter {
 public:
  HelpFormat() { column_width(kColumn); }

  // Usage lines and descriptions say what is required or excluded, so this does not.
  std::string make_option_opts(const CLI::Option* option) const override {
    return option->get_type_size() != 0 ? " " + option->get_type_name() : "";
  }

  std::string make_usage(const CLI::App* app, std::string name) const override {
    for (const CommandRow& row : Commands()) {
      if (row.name != app->get_name()) {
        continue;
      }
      std::string text;
      std::string_view rest = row.usage;
      for (bool more = true; more;) {
        const size_t end = rest.find('\n');
        more = end != std::string_view::npos;
        text +=
            fmt::format("{} ptrace-prof {} {}\n", text.empty() ? "Usage:" : "      ", row.name, rest.substr(0, end));
        rest.remove_prefix(more ? end + 1 : rest.size());
      }
      return text;
    }
    return CLI::Formatter::make_usage(app, std::move(name));
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> MakeHelpFormat() { return std::make_shared<HelpFormat>(); }

}  // namespace ptrace_prof
