#include "attach/inject/sealed_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace ptrace_prof {

Error NotTheSharedMemory(std::string_view why) {
  return Because(Reason::kTracerLost, fmt::format("the target shares the wrong memory: {}", why), "");
}

Error WrittenOver(std::string message) {
  return Because(Reason::kTracerLost, std::move(message),
                 "Code in the process may have overwritten the shared memory. Try again.");
}

Result<void> CheckSealedMemory(const UniqueFd& file, uint64_t size) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0) {
    return NotTheSharedMemory("it is not a memfd");
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return NotTheSharedMemory("it is not a file");
  }
  if ((seals & kSealsNeeded) != kSealsNeeded) {
    return Error{Code::kUnavailable, "the target has not sealed its memory yet", ""};
  }
  if (static_cast<uint64_t>(info.st_size) != size) {
    return NotTheSharedMemory("its size is wrong");
  }
  return {};
}

}  // namespace ptrace_prof
