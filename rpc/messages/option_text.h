// Parses options of a capture from text: from the command line, and from the defaults in the table of options.
#pragma once

#include <string_view>

#include "attach/base/result.h"
#include "rpc/messages/option_table.h"

namespace ptrace_prof {

// Sets the field of `row`; a repeated field gets one more value. kInvalidArgument: the text does not parse as that
// kind. CheckSpec checks the range.
Result<void> SetOption(const OptionRow& row, std::string_view text, v1::CaptureSpec* spec);

}  // namespace ptrace_prof
