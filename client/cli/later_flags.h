// Options that later versions will have: refused by name, so that nobody takes silence for an answer.
#pragma once

#include "attach/base/result.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

void DeclareLaterFlags(CLI::App& app);
// kUnimplemented when one of them was given.
Result<void> CheckLaterFlags(const CLI::App& app);

}  // namespace ptrace_prof
