// A path as a process with another root directory means it, opened from outside: links on the way, absolute ones and
// ".." too, stay inside of that root, whatever somebody renames meanwhile.
//
// What openat2(RESOLVE_IN_ROOT) does, one name at a time with openat(2): a seccomp filter can look into the arguments
// of this call, not of that one. Nothing that is found is opened, only looked at (O_PATH); the links of /proc, which
// lead anywhere, are taken by their text.
#pragma once

#include <string_view>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// A handle on what is there (O_PATH); not open, with errno set, where nothing is, or where the way is too long.
UniqueFd LookInRoot(const UniqueFd& root, std::string_view path);

}  // namespace ptrace_prof
