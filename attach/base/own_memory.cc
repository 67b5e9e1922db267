#include "attach/base/own_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace ptrace_prof {
namespace {

constexpr uint64_t kRoom = 32 << 20;

}  // namespace

OwnMemory ReadOwnMemory() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen("/proc/self/statm", "re"), &::fclose);
  unsigned long long pages[2] = {};
  if (file == nullptr || ::fscanf(file.get(), "%llu %llu", &pages[0], &pages[1]) != 2) {
    return {};
  }
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {pages[0] * page, pages[1] * page};
}

Result<void> CheckRoomForMore() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      ReadOwnMemory().address_space + kRoom <= limit.rlim_cur) {
    return {};
  }
  return Because(
      Reason::kOutOfResources,
      fmt::format("process {} has used up its address space (RLIMIT_AS, {} MiB)", ::getpid(), limit.rlim_cur >> 20),
      "end some captures or connections, or raise the limit (ulimit -v, LimitAS=)");
}

}  // namespace ptrace_prof
