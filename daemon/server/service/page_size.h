// How many entries a call returns at once.
#pragma once

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/result.h"

namespace ptrace_prof {

// 100 if `asked` is 0, at most 1000. kInvalidArgument: it is negative.
inline Result<int> PageSizeFrom(int asked) {
  constexpr int kDefault = 100;
  constexpr int kLargest = 1000;
  if (asked < 0) {
    return Error{Code::kInvalidArgument, fmt::format("page_size is {}", asked), "leave it out, or give 1 to 1000"};
  }
  return asked == 0 ? kDefault : std::min(asked, kLargest);
}

}  // namespace ptrace_prof
