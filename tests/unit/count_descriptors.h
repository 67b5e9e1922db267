// How many descriptors this process has.
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace ptrace_prof {

inline size_t CountDescriptors() {
  using std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(directory_iterator("/proc/self/fd"), directory_iterator()));
}

}  // namespace ptrace_prof
