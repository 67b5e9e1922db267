#include "attach/proc/frozen_group.h"

#include "attach/proc/cgroup_folders.h"
#include "attach/proc/proc_file.h"

namespace ptrace_prof {

std::string FrozenGroupOf(Pid pid) {
  constexpr size_t kMostText = 4096;
  for (const CgroupFolder& folder : CgroupFoldersOf(pid, "freezer")) {
    std::string file = folder.mount + folder.path + (folder.is_second ? "/cgroup.events" : "/freezer.state");
    const Result<std::string> text = ReadProcFile(file, kMostText);
    const std::string_view frozen = folder.is_second ? "\nfrozen 1" : "\nFROZEN";
    if (text.has_value() && ("\n" + text.value()).find(frozen) != std::string::npos) {
      return file;
    }
  }
  return {};
}

}  // namespace ptrace_prof
