#include "attach/proc/cgroup_folders.h"

#include <algorithm>

#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kRoot = "/sys/fs/cgroup";

// "cpu,cpuacct": several controllers of one hierarchy.
bool Names(std::string_view controllers, std::string_view controller) {
  while (!controllers.empty()) {
    const size_t end = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, end) == controller) {
      return true;
    }
    controllers.remove_prefix(std::min(end + 1, controllers.size()));
  }
  return false;
}

void AddFolders(std::string_view line, std::string_view controller, std::vector<CgroupFolder>& folders) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) {
    return;
  }
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string path(line.substr(second + 1));
  if (!path.starts_with('/') || path.find("..") != std::string::npos) {
    return;
  }
  if (controllers.empty()) {
    folders.push_back({std::string(kRoot), path, true});
    folders.push_back({std::string(kRoot) + "/unified", path, true});
  } else if (Names(controllers, controller)) {
    folders.push_back({std::string(kRoot) + "/" + std::string(controller), path, false});
  }
}

}  // namespace

std::vector<CgroupFolder> ParseCgroupFolders(std::string_view text, std::string_view controller) {
  std::vector<CgroupFolder> folders;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    AddFolders(text.substr(0, end), controller, folders);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return folders;
}

std::vector<CgroupFolder> CgroupFoldersOf(Pid pid, std::string_view controller) {
  const Result<std::string> text = ReadProcFile(ProcPath(pid, "cgroup"));
  return text.has_value() ? ParseCgroupFolders(text.value(), controller) : std::vector<CgroupFolder>();
}

}  // namespace ptrace_prof
