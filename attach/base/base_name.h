// The last component of a path: what follows the last slash, or all of it.
#pragma once

#include <string_view>

namespace ptrace_prof {

inline std::string_view BaseName(std::string_view path) { return path.substr(path.rfind('/') + 1); }  // npos + 1 is 0

}  // namespace ptrace_prof
