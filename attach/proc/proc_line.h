// Reads a short file of /proc again and again through a descriptor that stays open.
#pragma once

#include <unistd.h>

#include <array>
#include <string_view>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {

using LineBuffer = std::array<char, 512>;  // stat is the longest file: 52 numbers, most of them short

// The text, in `buffer`; empty if it cannot be read (errno says why).
inline std::string_view ReadAgain(const UniqueFd& fd, LineBuffer& buffer) {
  const ssize_t got = ::pread(fd.get(), buffer.data(), buffer.size(), 0);
  return got > 0 ? std::string_view(buffer.data(), static_cast<size_t>(got)) : std::string_view();
}

}  // namespace ptrace_prof
