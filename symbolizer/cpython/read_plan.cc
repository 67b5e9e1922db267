#include "symbolizer/cpython/read_plan.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr uint64_t kPageSize = 4096;

}  // namespace

void ReadPlan::Clear() {
  regions_.clear();
  hint_ = 0;
}

void ReadPlan::Add(RemoteAddr address, uint32_t size) { regions_.push_back({address.value, size, 0}); }

void ReadPlan::AddWithRoom(RemoteAddr address, uint32_t size, uint32_t room) {
  const uint64_t end = address.value + size;
  const uint64_t page_end = (end + kPageSize - 1) & ~(kPageSize - 1);
  Add(address, static_cast<uint32_t>(std::min(end + room, page_end) - address.value));
}

bool ReadPlan::Seal() {
  std::sort(regions_.begin(), regions_.end(), [](const Region& a, const Region& b) { return a.start < b.start; });
  size_t kept = 0;
  for (const Region& region : regions_) {
    if (kept > 0) {
      Region& last = regions_[kept - 1];
      if (region.start <= last.start + last.size + kMergeGap) {
        const uint64_t end = std::max(last.start + last.size, region.start + region.size);
        last.size = static_cast<uint32_t>(end - last.start);
        continue;
      }
    }
    regions_[kept++] = region;
  }
  regions_.resize(kept);
  size_t total = 0;
  for (Region& region : regions_) {
    region.offset = static_cast<uint32_t>(total);
    total += region.size;
    if (total > kMaxBytes) {
      return false;
    }
  }
  hint_ = 0;
  if (bytes_.size() < total) {
    bytes_.resize(total);
  }
  return true;
}

void ReadPlan::AppendRequests(std::vector<ReadRequest>* batch) {
  for (const Region& region : regions_) {
    batch->push_back({RemoteAddr(region.start), bytes_.data() + region.offset, region.size});
  }
}

const std::byte* ReadPlan::FindElsewhere(uint64_t address, uint32_t size) const {
  const auto next = std::upper_bound(regions_.begin(), regions_.end(), address,
                                     [](uint64_t a, const Region& region) { return a < region.start; });
  if (next == regions_.begin()) {
    return nullptr;
  }
  const Region& region = *(next - 1);
  if (address - region.start + size > region.size) {
    return nullptr;
  }
  hint_ = static_cast<size_t>(next - 1 - regions_.begin());
  return bytes_.data() + region.offset + (address - region.start);
}

}  // namespace ptrace_prof
