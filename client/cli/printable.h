// Text of a target or of a trace, made fit for a terminal: control characters (an escape sequence in a function's
// name) and malformed UTF-8 become '?'.
#pragma once

#include <string>
#include <string_view>

namespace ptrace_prof {

std::string Printable(std::string_view text);

}  // namespace ptrace_prof
