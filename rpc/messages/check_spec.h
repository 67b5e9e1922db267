// Whether what is asked for can be done by anybody, and what it means where nothing is said: the one check for every
// door. Ranges and modes are in the table of options, rules between fields in spec_rules.h.
#pragma once

#include "attach/base/result.h"
#include "rpc/messages/option_table.h"

namespace ptrace_prof {

// kInvalidArgument names the option as the caller wrote it, what is wrong with it, and what may stand there.
// UNIMPLEMENTED, NOT_YET: a choice that this version does not know. The target may be missing (a command is started).
Result<void> CheckSpec(const v1::CaptureSpec& spec, SpecDoor door);

// Whether an option goes with a mode at all.
Result<void> CheckMode(const OptionRow& row, v1::Mode mode, SpecDoor door);

// What an absent field means, said aloud, as far as it goes with the mode. A spec that was checked passes the check
// afterwards, too, and is not changed by being filled again.
void FillDefaults(v1::CaptureSpec* spec);

// What a collector is given must also be in itself right, wherever it comes from: the target where there must be one,
// nothing that its verb does not have.
Result<void> CheckTask(const CaptureTask& task);

}  // namespace ptrace_prof
