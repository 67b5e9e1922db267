// Any bytes as text that may stand anywhere: two lower-case digits for each. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ptrace_prof {

std::string ToHexadecimal(std::string_view bytes);
// Nothing where the text is not that, in digits of either case.
std::optional<std::string> FromHexadecimal(std::string_view text);

}  // namespace ptrace_prof
