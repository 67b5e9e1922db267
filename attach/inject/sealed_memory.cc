#include "attach/inject/sealed_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <utility>

namespace ptrace_prof {

Error NotTheSharedMemory(std::string_view why) {
  return Because(Reason::kTracerLost,
                 fmt::format("what the target shares is not the memory that was asked for: {}", why), "");
}

Error WrittenOver(std::string message) {
  return Because(Reason::kTracerLost, std::move(message),
                 "Something in the process may write to memory that is not its own; else try again.");
}

Result<void> CheckSealedMemory(const UniqueFd& file, uint64_t size) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  if (seals < 0) {
    return NotTheSharedMemory("it is no memfd");
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return NotTheSharedMemory("it is no file");
  }
  if ((seals & kSealsNeeded) != kSealsNeeded) {
    return Error{Code::kUnavailable, "the target has not sealed its memory yet", ""};
  }
  if (static_cast<uint64_t>(info.st_size) != size) {
    return NotTheSharedMemory("its size is another");
  }
  return {};
}

}  // namespace ptrace_prof
