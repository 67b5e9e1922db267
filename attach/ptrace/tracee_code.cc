#include "attach/ptrace/tracee_code.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace ptrace_prof {
namespace {

constexpr size_t kWord = sizeof(long);

void* Pointer(uint64_t value) { return reinterpret_cast<void*>(value); }

Error Failed(int err) {
  return err == ESRCH ? ErrnoError(err, "cannot write code")
                      : Error{Code::kFailedPrecondition, "no memory is mapped at the address for the code", ""};
}

}  // namespace

Result<void> WriteCode(Tid tid, RemoteAddr to, std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    // Writes whole words only: the bytes around the range are written back unchanged.
    const uint64_t before = to.value % kWord;
    const size_t count = std::min<size_t>(kWord - before, bytes.size());
    errno = 0;
    long word = ::ptrace(PTRACE_PEEKDATA, tid.value, Pointer(to.value - before), nullptr);
    if (errno != 0) {
      return Failed(errno);
    }
    std::memcpy(reinterpret_cast<uint8_t*>(&word) + before, bytes.data(), count);
    if (::ptrace(PTRACE_POKEDATA, tid.value, Pointer(to.value - before), word) != 0) {
      return Failed(errno);
    }
    to = to + count;
    bytes = bytes.subspan(count);
  }
  return {};
}

bool RegistersPointInto(Tid tid, RemoteAddr begin, RemoteAddr end) {
  std::array<uint64_t, 64> registers{};  // more than the general registers of any supported architecture
  iovec into{registers.data(), sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, tid.value, Pointer(NT_PRSTATUS), &into) != 0) {
    return errno != ESRCH;
  }
  return std::any_of(registers.begin(), registers.begin() + into.iov_len / sizeof(uint64_t),
                     [&](uint64_t value) { return begin.value <= value && value < end.value; });
}

}  // namespace ptrace_prof
