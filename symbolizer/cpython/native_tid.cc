#include "symbolizer/cpython/native_tid.h"

#include <array>

#include "symbolizer/cpython/frame_walker.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kGlibcX86Offset = 720;  // measured on glibc 2.36 and 2.43
constexpr size_t kSearchWords = 512;       // ints: 2 KiB of struct pthread

}  // namespace

NativeTidFinder::NativeTidFinder(RemoteMemory& memory, uint64_t main_ident, Pid ns_pid) : memory_(memory) {
  std::array<int32_t, kSearchWords> words{};
  size_t readable = words.size();
  while (readable >= 16 && memory_.Read(RemoteAddr(main_ident), words.data(), readable * 4) != ReadStatus::kOk) {
    readable /= 2;
  }
  if (readable < 16) {
    return;
  }
  if (readable > kGlibcX86Offset / 4 && words[kGlibcX86Offset / 4] == ns_pid.value) {
    offset_ = kGlibcX86Offset;
    return;
  }
  for (size_t i = 0; i < readable; ++i) {
    if (words[i] == ns_pid.value) {
      offset_ = static_cast<uint32_t>(i * 4);
      return;
    }
  }
}

std::optional<Tid> NativeTidFinder::Find(uint64_t ident) {
  int32_t tid = 0;
  if (!offset_.has_value() || !IsPlausibleAddress(ident) ||
      memory_.ReadValue(RemoteAddr(ident) + *offset_, &tid) != ReadStatus::kOk || tid <= 0) {
    return std::nullopt;
  }
  return Tid(tid);
}

}  // namespace ptrace_prof
