// Hexadecimal text of any bytes: two lower-case digits for each. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ptrace_prof {

std::string ToHexadecimal(std::string_view bytes);
// Returns nothing if the text is not hexadecimal. Accepts digits of either case.
std::optional<std::string> FromHexadecimal(std::string_view text);

}  // namespace ptrace_prof
