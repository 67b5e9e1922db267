// Opens a path as a process with another root directory would resolve it, from outside. Links on the path, including
// absolute ones and "..", stay inside that root, even if files are renamed meanwhile.
//
// This is openat2(RESOLVE_IN_ROOT), done one name at a time with openat(2): a seccomp filter can check the arguments of
// openat, but not those of openat2. Files are opened with O_PATH only; the text of links in /proc, which lead anywhere,
// is followed instead of the link.
#pragma once

#include <string_view>

#include "attach/base/unique_fd.h"

namespace ptrace_prof {

// Returns an O_PATH descriptor; not open, with errno set, if nothing is there or the path is too long.
UniqueFd LookInRoot(const UniqueFd& root, std::string_view path);

}  // namespace ptrace_prof
