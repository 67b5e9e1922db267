// Numbers for people: "1,234,567", "3.21 s", "12.5 %".
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

std::string WithCommas(uint64_t value);
std::string BytesText(int64_t bytes);  // "8.38 MB", with units of 1024
std::string DurationText(Nanos duration);
std::string PercentText(uint64_t part, uint64_t whole);  // if `whole` is 0: "0 %"

}  // namespace ptrace_prof
