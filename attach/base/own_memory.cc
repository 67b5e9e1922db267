#include "attach/base/own_memory.h"

#include <unistd.h>

#include <cstdio>
#include <memory>

namespace ptrace_prof {

OwnMemory ReadOwnMemory() {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen("/proc/self/statm", "re"), &::fclose);
  unsigned long long pages[2] = {};
  if (file == nullptr || ::fscanf(file.get(), "%llu %llu", &pages[0], &pages[1]) != 2) {
    return {};
  }
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return {pages[0] * page, pages[1] * page};
}

}  // namespace ptrace_prof
