#include "client/cli/later_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

namespace ptrace_prof {
namespace {

struct LaterFlag {
  const char* name;
  const char* what;
  const char* instead;
};
constexpr LaterFlag kLaterFlags[] = {
    {"--native", "stacks of native code (C, C++, CUDA libraries)", "Python frames are recorded without it"},
    {"--gpu", "GPU activity", "only `ptrace-prof record` has it; here, waits for the GPU show as thread states"},
};

}  // namespace

void DeclareLaterFlags(CLI::App& app) {
  for (const LaterFlag& flag : kLaterFlags) {
    if (app.get_option_no_throw(flag.name) == nullptr) {     // a command may already have the flag
      app.add_option(flag.name)->expected(0, 1)->group("");  // an empty group hides it from --help
    }
  }
}

Result<void> CheckLaterFlags(const CLI::App& app) {
  for (const LaterFlag& flag : kLaterFlags) {
    const CLI::Option* option = app.get_option_no_throw(flag.name);
    if (option == nullptr || option->count() == 0 || !option->get_group().empty()) {
      continue;
    }
    return Error{Code::kUnimplemented, fmt::format("{} is not supported here ({})", flag.name, flag.what),
                 fmt::format("leave {} out: {}", flag.name, flag.instead)};
  }
  return {};
}

}  // namespace ptrace_prof
