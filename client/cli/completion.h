// Generates shell completion from the declared options: bash, zsh, fish. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

// kInvalidArgument for an unknown shell.
Result<std::string> CompletionScript(std::string_view shell, const CLI::App& root);

}  // namespace ptrace_prof
