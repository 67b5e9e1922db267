#include "attach/proc/memory_group.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "attach/proc/cgroup_folders.h"
#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kController = "memory";

struct Files {
  std::string_view limit, usage, cached[2];
};
constexpr Files kFirst = {
    "/memory.limit_in_bytes", "/memory.usage_in_bytes", {"total_inactive_file ", "total_active_file "}};
constexpr Files kSecond = {"/memory.max", "/memory.current", {"inactive_file ", "active_file "}};

std::optional<uint64_t> Number(std::string_view text) {
  uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;  // nullopt for "max"
}

std::optional<uint64_t> NumberIn(const std::string& file) {
  const Result<std::string> text = ReadProcFile(file);
  return text.has_value() ? Number(text.value()) : std::nullopt;
}

// Memory that the kernel reclaims before it fails an allocation.
uint64_t Cached(const std::string& folder, const Files& files) {
  const Result<std::string> text = ReadProcFile(folder + "/memory.stat");
  if (text.has_error()) {
    return 0;
  }
  uint64_t cached = 0;
  const std::string lines = "\n" + text.value();
  for (const std::string_view name : files.cached) {
    const size_t at = lines.find("\n" + std::string(name));
    cached += at == std::string::npos ? 0 : Number(std::string_view(lines).substr(at + 1 + name.size())).value_or(0);
  }
  return cached;
}

std::optional<GroupMemory> In(const std::string& folder, const Files& files) {
  const auto limit = NumberIn(folder + std::string(files.limit));
  const auto usage = NumberIn(folder + std::string(files.usage));
  constexpr uint64_t kNone = uint64_t{1} << 60;  // version 1 writes such a number for no limit
  if (!limit.has_value() || !usage.has_value() || *limit >= kNone) {
    return std::nullopt;
  }
  const uint64_t cached = std::min(Cached(folder, files), *usage);
  const uint64_t used = *usage - cached;
  return GroupMemory{*limit > used ? *limit - used : 0, *limit, folder};
}

}  // namespace

std::optional<GroupMemory> GroupMemoryOf(Pid pid) {
  std::optional<GroupMemory> tightest;
  for (const CgroupFolder& group : CgroupFoldersOf(pid, kController)) {
    for (std::string path = group.path;; path.resize(path.rfind('/'))) {
      std::optional<GroupMemory> one = In(group.mount + path, group.is_second ? kSecond : kFirst);
      if (one.has_value() && (!tightest.has_value() || one->room < tightest->room)) {
        tightest = std::move(one);
      }
      if (path.empty() || path == "/") {
        break;
      }
    }
  }
  return tightest;
}

bool SharesMemoryGroup(Pid pid) {
  const auto theirs = CgroupFoldersOf(pid, kController);
  const auto ours = CgroupFoldersOf(Pid(::getpid()), kController);
  for (const CgroupFolder& one : theirs) {
    for (const CgroupFolder& other : ours) {
      if (one.mount == other.mount && one.path != other.path) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace ptrace_prof
