#include "symbolizer/cpython/segment_scan.h"

#include <algorithm>
#include <vector>

namespace ptrace_prof {
namespace {

constexpr uint64_t kPiece = 256 * 1024;
constexpr uint64_t kMaxTotal = 512 * 1024 * 1024;

}  // namespace

void ScanWritableSegments(RemoteMemory& memory, const ElfImage& image,
                          const std::function<bool(RemoteAddr, std::span<const std::byte>)>& visit) {
  std::vector<std::byte> piece(kPiece + kScanOverlap);
  uint64_t total = 0;
  for (const ElfSegment& segment : image.segments()) {
    if (!segment.writable) {
      continue;
    }
    const uint64_t skew = -image.Address(segment.vaddr).value % 8;
    for (uint64_t at = skew; at < segment.size && total < kMaxTotal; at += kPiece) {
      const uint64_t size = std::min<uint64_t>(segment.size - at, piece.size());
      total += size;
      const RemoteAddr from = image.Address(segment.vaddr + at);
      if (memory.Read(from, piece.data(), size) == ReadStatus::kOk && !visit(from, std::span(piece).first(size))) {
        return;
      }
    }
  }
}

}  // namespace ptrace_prof
