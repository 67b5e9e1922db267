// Shell completion, written from the options as they are declared: bash, zsh, fish. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "attach/base/result.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

// kInvalidArgument for a shell that we do not know.
Result<std::string> CompletionScript(std::string_view shell, const CLI::App& root);

}  // namespace ptrace_prof
