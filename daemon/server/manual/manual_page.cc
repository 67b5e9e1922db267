#include "daemon/server/manual/manual_page.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

namespace ptrace_prof {
namespace {

constexpr char kDate[] = "2026-11-22";  // of the last change to the text in this file

// Removes the first character, which is not ASCII, from `rest` and returns its roff name: \[u2026]. Our text is valid
// UTF-8.
std::string Named(std::string_view& rest) {
  const auto lead = static_cast<unsigned char>(rest.front());
  const size_t size = std::min<size_t>(lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2, rest.size());
  uint32_t code = lead & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    code = code << 6 | (static_cast<unsigned char>(rest[i]) & 0x3fU);
  }
  rest.remove_prefix(size);
  return fmt::format("\\[u{:04X}]", code);
}

// Escapes text so that roff shows it unchanged.
std::string Plain(std::string_view text) {
  std::string plain;
  bool at_begin = true;
  while (!text.empty()) {
    const char c = text.front();
    if (static_cast<unsigned char>(c) >= 0x80) {
      plain += Named(text);
      at_begin = false;
      continue;
    }
    plain += at_begin && (c == '.' || c == '\'') ? "\\&" : "";
    plain += c == '\\' ? "\\e" : c == '-' ? "\\-" : std::string(1, c);
    at_begin = c == '\n';
    text.remove_prefix(1);
  }
  return plain;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  return upper;
}

class Page {
 public:
  void Section(std::string_view title) {
    text_ += fmt::format(".SH {}\n", title);
    is_first_ = true;
  }
  void Subsection(std::string_view title) { text_ += fmt::format(".SS {}\n", Plain(title)); }
  void Raw(std::string_view line) { text_ += std::string(line) + "\n"; }
  void Text(std::string_view text) { text_ += Plain(text) + "\n"; }
  void Tagged(const std::string& tag, std::string_view text) {
    text_ += ".TP\n" + tag + "\n" + (text.empty() ? "\\&" : Plain(text)) + "\n";
  }

  // The footer of --help: sentences, and indented lines, which keep their form.
  void Footer(std::string_view footer) {
    bool is_block = false;
    bool is_new = true;
    while (!footer.empty()) {
      const size_t end = std::min(footer.find('\n'), footer.size());
      const std::string_view line = footer.substr(0, end);
      footer.remove_prefix(std::min(end + 1, footer.size()));
      const bool is_indented = line.starts_with("  ");
      if (is_block && !is_indented) {
        Raw(".EE\n.RE");
        is_block = false;
        is_new = true;
      }
      if (line.empty()) {
        is_new = true;
        continue;
      }
      if (is_indented && !is_block) {
        Raw(".RS 4\n.EX");
        is_block = true;
      } else if (!is_indented && is_new && !is_first_) {
        Raw(".PP");
      }
      is_new = false;
      is_first_ = false;
      Text(is_indented ? line.substr(2) : line);
    }
    if (is_block) {
      Raw(".EE\n.RE");
    }
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool is_first_ = false;  // the section is still empty
};

std::string Tag(const CLI::Option& option) {
  std::string tag;
  const auto add = [&](std::string_view name) {
    tag += fmt::format("{}\\fB{}\\fR", tag.empty() ? "" : ", ", Plain(name));
  };
  for (const std::string& name : option.get_snames()) {
    add("-" + name);
  }
  for (const std::string& name : option.get_lnames()) {
    add("--" + name);
  }
  if (option.get_positional()) {
    return fmt::format("\\fI{}\\fR", Plain(Upper(option.get_name())));
  }
  const std::string type = option.get_type_name();  // the check in the type name is also in the description
  return option.get_items_expected_max() > 0 ? fmt::format("{} \\fI{}\\fR", tag, Plain(type.substr(0, type.find(':'))))
                                             : tag;
}

void Options(Page& page, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const bool is_help_again = app.get_parent() != nullptr && option == app.get_help_ptr();
    if (option->get_group().empty() || is_help_again) {
      continue;
    }
    const std::string usual = option->get_default_str();
    page.Tagged(Tag(*option), usual.empty() ? option->get_description()
                                            : fmt::format("{} (default: {})", option->get_description(), usual));
  }
}

void Actions(Page& page, const CLI::App& app) {
  for (const CLI::App* action : app.get_subcommands({})) {
    page.Tagged(fmt::format("\\fB{}\\fR", Plain(action->get_name())), action->get_description());
    page.Raw(".RS");
    Options(page, *action);
    page.Raw(".RE");
  }
}

void Commands(Page& page, const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands({})) {
    page.Subsection(command->get_name());
    page.Text(command->get_description() + ".");
    Actions(page, *command);
    Options(page, *command);
    page.Footer(command->get_footer());
  }
}

}  // namespace

std::string ManualPage(const CLI::App& app, const ManualInfo& info) {
  Page page;
  const std::string& name = app.get_name();
  page.Raw(fmt::format(".TH {} {} {} \"ptrace-prof {}\"", Upper(name), info.section, kDate, info.version));
  page.Section("NAME");
  const std::string summary = app.get_description();
  page.Raw(fmt::format("{} \\- {}", Plain(name), Plain(summary.substr(0, summary.find_last_not_of('.') + 1))));
  page.Section("SYNOPSIS");
  page.Raw(".nf");
  for (const std::string& line : info.synopsis) {
    page.Raw(fmt::format("\\fB{}\\fR {}", Plain(name), Plain(line)));
  }
  page.Raw(".fi");
  page.Section("DESCRIPTION");
  page.Footer(summary + "\n\n");
  page.Footer(app.get_footer());
  if (!app.get_subcommands({}).empty()) {
    page.Section("COMMANDS");
    Commands(page, app);
  }
  page.Section("OPTIONS");
  Options(page, app);
  if (!info.files.empty()) {
    page.Section("FILES");
    for (const auto& [file, what] : info.files) {
      page.Tagged(fmt::format("\\fI{}\\fR", Plain(file)), what);
    }
  }
  page.Section("SEE ALSO");
  page.Text(info.see_also);
  return page.take();
}

}  // namespace ptrace_prof
