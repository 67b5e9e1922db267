#include "symbolizer/cpython/runtime_finder.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/segment_scan.h"
#include "symbolizer/cpython/version_finder.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxCandidates = 4096;  // per image, by scanning
constexpr uint64_t kMaxInterpreterIds = 1 << 20;

Result<bool> ByDynamicSymbol(RemoteMemory&, ProcessImages& images, size_t i, const RuntimeVisitor& visit) {
  PP_ASSIGN_OR_RETURN(const ElfImage* elf, images.Elf(i));
  const auto symbol = elf == nullptr ? std::nullopt : elf->FindSymbol("_PyRuntime");
  return symbol && visit(elf->Address(symbol->value));
}

Result<bool> ByFile(RemoteMemory&, ProcessImages& images, size_t i, const RuntimeVisitor& visit) {
  PP_ASSIGN_OR_RETURN(const ElfImage* elf, images.ElfWithFile(i));
  if (elf == nullptr) {
    return false;
  }
  const auto section = elf->FindSection(".PyRuntime");
  const auto symbol = elf->FindSymbol("_PyRuntime");
  return (section && visit(elf->Address(section->vaddr))) || (symbol && visit(elf->Address(symbol->value)));
}

// 3.13+: finds the cookie at its beginning.
Result<bool> ByCookie(RemoteMemory& memory, ProcessImages& images, size_t i, const RuntimeVisitor& visit) {
  PP_ASSIGN_OR_RETURN(const ElfImage* elf, images.Elf(i));
  if (elf == nullptr) {
    return false;
  }
  std::vector<RemoteAddr> found;
  ScanWritableSegments(memory, *elf, [&](RemoteAddr from, std::span<const std::byte> bytes) {
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      if (std::memcmp(bytes.data() + at, "xdebugpy", 8) == 0) {
        found.push_back(from + at);
      }
    }
    return found.size() < kMaxCandidates;
  });
  return std::ranges::any_of(found, visit);
}

bool HasOwnThread(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter) {
  uint64_t thread = 0;
  uint64_t back = 0;
  return memory.ReadValue(interpreter + layout.interp_threads_head, &thread) == ReadStatus::kOk && thread != 0 &&
         memory.ReadValue(RemoteAddr(thread) + layout.thread_interp, &back) == ReadStatus::kOk &&
         RemoteAddr(back) == interpreter;
}

// 3.8–3.12: `interpreters` of _PyRuntime begins with two pointers, head and main. They are equal while there is only
// one interpreter, and point to an interpreter whose first thread state points back. Then comes next_id, a small
// number.
Result<bool> ByCycle(RemoteMemory& memory, ProcessImages& images, size_t i, const RuntimeVisitor& visit) {
  PP_ASSIGN_OR_RETURN(const ElfImage* elf, images.Elf(i));
  const auto version = elf == nullptr ? std::nullopt : FindVersion(memory, *elf, images.image(i).region.path);
  const Result<Layout> layout = LayoutFor(version.value_or(PythonVersion{}), false);
  if (layout.has_error()) {
    return false;
  }
  const uint32_t head = layout.value().runtime_interpreters_head;
  std::vector<RemoteAddr> found;
  ScanWritableSegments(memory, *elf, [&](RemoteAddr from, std::span<const std::byte> bytes) {
    for (size_t at = 0; at + 24 <= bytes.size() && found.size() < kMaxCandidates; at += 8) {
      uint64_t words[3];  // head, main, next_id
      std::memcpy(words, bytes.data() + at, sizeof words);
      if (words[0] == words[1] && words[0] >= 4096 && words[0] % 8 == 0 && words[2] - 1 < kMaxInterpreterIds &&
          HasOwnThread(memory, layout.value(), RemoteAddr(words[0]))) {
        found.push_back(from + at - head);
      }
    }
    return found.size() < kMaxCandidates;
  });
  return std::ranges::any_of(found, visit);
}

constexpr RuntimeStrategy kStrategies[] = {
    {"dynamic symbol _PyRuntime", ImageRank::kOther, ByDynamicSymbol},
    {"section .PyRuntime or symbol of the file", ImageRank::kOther, ByFile},
    {"scan for the cookie of 3.13 and later", ImageRank::kPythonByName, ByCookie},
    {"scan for an interpreter and its thread", ImageRank::kPythonByName, ByCycle},
};

}  // namespace

std::span<const RuntimeStrategy> RuntimeStrategies() { return kStrategies; }

}  // namespace ptrace_prof
