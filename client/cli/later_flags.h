// Options of later versions: refused by name, so that no user believes they had an effect.
#pragma once

#include "attach/base/result.h"

namespace CLI {
class App;
}

namespace ptrace_prof {

void DeclareLaterFlags(CLI::App& app);
// kUnimplemented if one of them was given.
Result<void> CheckLaterFlags(const CLI::App& app);

}  // namespace ptrace_prof
