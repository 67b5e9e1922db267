// Options of a capture as text: what a command line says, and what a default is in the table of options.
#pragma once

#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/option_table.h"

namespace ptrace_prof {

// Sets the field of `row`, or, of what may be repeated, adds to it. kInvalidArgument: it is no text of that kind; what
// is out of range is for CheckSpec to say.
Result<void> SetOption(const OptionRow& row, std::string_view text, v1::CaptureSpec* spec);

}  // namespace ptrace_prof
