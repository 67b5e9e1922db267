// The folders of the control groups in /proc/<pid>/cgroup, which has lines such as "6:freezer:/jobs/7".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

struct CgroupFolder {
  std::string mount;       // "/sys/fs/cgroup/freezer"
  std::string path;        // below the mount, "/jobs/7"; "/" is the root
  bool is_second = false;  // version 2
};

// The folders that may belong to `controller` ("freezer", "memory") for a process, from its cgroup file as seen by us:
// for version 2 and version 1, whichever exist. Groups outside our view are left out.
std::vector<CgroupFolder> ParseCgroupFolders(std::string_view text, std::string_view controller);
std::vector<CgroupFolder> CgroupFoldersOf(Pid pid, std::string_view controller);

}  // namespace ptrace_prof
