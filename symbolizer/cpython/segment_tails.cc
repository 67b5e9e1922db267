#include "symbolizer/cpython/segment_tails.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "attach/base/base_name.h"
#include "attach/proc/maps.h"
#include "symbolizer/cpython/process_images.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kTailPage = 4096;

bool IsDynamicLinker(std::string_view path) {
  const std::string_view name = BaseName(path);
  return name.starts_with("ld-") || name.starts_with("ld.so");
}

bool IsMusl(std::string_view path) {
  const std::string_view name = BaseName(path);
  return name.starts_with("ld-musl-") || name.starts_with("libc.musl-");
}

MemoryTail TailOf(const ElfImage& elf, TailKind kind) {
  MemoryTail largest;
  for (const ElfSegment& segment : elf.segments()) {
    const RemoteAddr end = elf.Address(segment.vaddr) + segment.size;
    const uint64_t left = (kTailPage - end.value % kTailPage) % kTailPage;
    const bool right = kind == TailKind::kData ? segment.writable : segment.executable;
    if (right && segment.size > 0 && left > largest.size) {
      largest = {end, left};
    }
  }
  return largest;
}

// Whether the tail is still writable or executable (all of a small segment may be made read-only: RELRO) and all zero.
bool IsUnused(RemoteMemory& memory, std::span<const MemoryRegion> regions, const MemoryTail& tail, TailKind kind) {
  const auto holds = [&](const MemoryRegion& region) {
    return region.start <= tail.begin && tail.begin < region.end &&
           (kind == TailKind::kData ? region.writable : region.executable);
  };
  std::vector<uint8_t> bytes(tail.size);
  return std::ranges::any_of(regions, holds) &&
         memory.Read(tail.begin, bytes.data(), bytes.size()) == ReadStatus::kOk &&
         std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

}  // namespace

Result<std::vector<MemoryTail>> FindSegmentTails(Pid pid, RemoteMemory& memory, TailKind kind, uint64_t enough) {
  PP_ASSIGN_OR_RETURN(ProcessImages images, ProcessImages::Of(pid, memory));
  std::vector<MemoryTail> tails;
  for (size_t i = 0; i < images.count(); ++i) {
    if (IsMusl(images.image(i).region.path)) {
      return std::vector<MemoryTail>();
    }
  }
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  bool is_enough = false;
  for (size_t i = 0; i < images.count() && !is_enough; ++i) {
    if (IsDynamicLinker(images.image(i).region.path)) {
      continue;
    }
    PP_ASSIGN_OR_RETURN(const ElfImage* elf, images.Elf(i));
    const MemoryTail tail = elf != nullptr ? TailOf(*elf, kind) : MemoryTail();
    if (tail.size > 0) {
      tails.push_back(tail);
      is_enough = tail.size >= enough && IsUnused(memory, regions, tail, kind);
    }
  }
  std::ranges::sort(tails, std::ranges::greater(), &MemoryTail::size);
  return tails;
}

}  // namespace ptrace_prof
