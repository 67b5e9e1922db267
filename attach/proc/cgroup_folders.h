// Where the files of a control group lie, of each line of /proc/<pid>/cgroup ("6:freezer:/jobs/7").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

struct CgroupFolder {
  std::string mount;       // "/sys/fs/cgroup/freezer"
  std::string path;        // below it, "/jobs/7"; "/" is the root
  bool is_second = false;  // version 2
};

// The folders that may be that of `controller` ("freezer", "memory") for a process, as its cgroup file says it from
// here: those of version 2 and of version 1, whichever exist. Groups outside of what we see are left out.
std::vector<CgroupFolder> ParseCgroupFolders(std::string_view text, std::string_view controller);
std::vector<CgroupFolder> CgroupFoldersOf(Pid pid, std::string_view controller);

}  // namespace ptrace_prof
