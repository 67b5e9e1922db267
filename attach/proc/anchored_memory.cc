#include "attach/proc/anchored_memory.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kAnchoredRequests = 1023;  // with the anchor word: one system call of ProcessMemory

}  // namespace

void AnchoredMemory::Anchor(RemoteAddr where, std::function<bool(uint64_t)> is_ours) {
  where_ = where;
  is_ours_ = std::move(is_ours);
}

bool AnchoredMemory::IsInPlace() {
  uint64_t word = 0;
  const ReadStatus status = where_.IsNull() ? ReadStatus::kOk : below_.ReadValue(where_, &word);
  return where_.IsNull() || status == ReadStatus::kGone || (status == ReadStatus::kOk && is_ours_(word));
}

ReadStatus AnchoredMemory::Read(RemoteAddr from, void* to, size_t size) {
  const ReadRequest request{from, to, static_cast<uint32_t>(size)};
  size_t filled = 0;
  return where_.IsNull() || size > UINT32_MAX ? below_.Read(from, to, size) : ReadBatch({&request, 1}, &filled);
}

ReadStatus AnchoredMemory::ReadBatch(std::span<const ReadRequest> requests, size_t* filled) {
  if (where_.IsNull()) {
    return below_.ReadBatch(requests, filled);
  }
  *filled = 0;
  while (!requests.empty()) {
    const auto part = requests.first(std::min(requests.size(), kAnchoredRequests));
    uint64_t word = 0;
    requests_.assign(1, {where_, &word, sizeof word});
    requests_.insert(requests_.end(), part.begin(), part.end());
    size_t complete = 0;
    const ReadStatus status = below_.ReadBatch(requests_, &complete);
    if (complete == 0 && status == ReadStatus::kDenied) {
      return status;
    }
    if (complete == 0 || !is_ours_(word)) {
      return ReadStatus::kGone;
    }
    *filled += complete - 1;
    if (status != ReadStatus::kOk) {
      return status;
    }
    requests = requests.subspan(part.size());
  }
  return ReadStatus::kOk;
}

}  // namespace ptrace_prof
