// Checks whether a requested capture is possible at all, and fills in the defaults. All interfaces use this one check.
// Ranges and modes are in the table of options, rules between fields in spec_rules.h.
#pragma once

#include "attach/base/result.h"
#include "rpc/messages/option_table.h"

namespace ptrace_prof {

// kInvalidArgument names the option as the caller wrote it, what is wrong with it, and what is allowed. UNIMPLEMENTED,
// NOT_YET: a choice that this version does not know. The target may be missing, if a command is to be started.
Result<void> CheckSpec(const v1::CaptureSpec& spec, SpecDoor door);

// Whether an option can be used with a mode at all.
Result<void> CheckMode(const OptionRow& row, v1::Mode mode, SpecDoor door);

// Sets every absent field that the mode uses to its default. A checked spec still passes the check afterwards. Filling
// it again changes nothing.
void FillDefaults(v1::CaptureSpec* spec);

// Checks a collector's task, from any source: the target must be there if the verb needs one, and no field may be set
// that the verb does not have.
Result<void> CheckTask(const CaptureTask& task);

}  // namespace ptrace_prof
