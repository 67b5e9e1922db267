#include "attach/proc/frozen_group.h"

#include <algorithm>
#include <string_view>

#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostText = 4096;

struct Place {
  std::string_view controllers;  // of the line; empty: version 2
  std::string_view mount;
  std::string_view file;
  std::string_view frozen;  // what it says then
};
constexpr Place kPlaces[] = {
    {"", "/sys/fs/cgroup", "/cgroup.events", "\nfrozen 1"},
    {"", "/sys/fs/cgroup/unified", "/cgroup.events", "\nfrozen 1"},
    {"freezer", "/sys/fs/cgroup/freezer", "/freezer.state", "\nFROZEN"},
};

// Of a line as "6:freezer:/jobs/7".
std::string FrozenAt(std::string_view line) {
  const size_t first = line.find(':');
  const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
  if (second == std::string_view::npos) {
    return {};
  }
  const std::string_view controllers = line.substr(first + 1, second - first - 1);
  const std::string_view path = line.substr(second + 1);
  if (path.find("..") != std::string_view::npos) {
    return {};  // outside of what we see
  }
  for (const Place& place : kPlaces) {
    if (place.controllers != controllers) {
      continue;
    }
    std::string file = std::string(place.mount) + std::string(path) + std::string(place.file);
    const Result<std::string> text = ReadProcFile(file, kMostText);
    if (text.has_value() && ("\n" + text.value()).find(place.frozen) != std::string::npos) {
      return file;
    }
  }
  return {};
}

}  // namespace

std::string FrozenGroupOf(Pid pid) {
  const Result<std::string> text = ReadProcFile(ProcPath(pid, "cgroup"));
  std::string_view rest = text.has_value() ? std::string_view(text.value()) : std::string_view();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    if (std::string file = FrozenAt(rest.substr(0, end)); !file.empty()) {
      return file;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

}  // namespace ptrace_prof
