// The pieces of a target's memory that one sample of one thread needs, and their bytes once read.
//
// The plan is a prediction: the addresses that the previous sample visited, with some room above the youngest frame for
// calls made since. They are merged if a gap costs less than another iovec (one iovec ≈ 0.37 us, 2 KiB of copying ≈ 0.2
// us; measured with process_vm_readv). Add addresses, Seal, append the requests to a batch, read, Find. No allocation
// once the sizes have settled. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class ReadPlan {
 public:
  static constexpr uint64_t kMergeGap = 2048;
  static constexpr size_t kMaxBytes = 4 << 20;  // a hostile chain cannot make us read more than this

  void Clear();
  void Add(RemoteAddr address, uint32_t size);
  // Like Add, with room behind it up to the end of the page (the next page may not be mapped).
  void AddWithRoom(RemoteAddr address, uint32_t size, uint32_t room);
  // Sorts and merges. False: more than kMaxBytes; the plan is then unusable.
  bool Seal();

  void AppendRequests(std::vector<ReadRequest>* batch);
  size_t pieces() const { return regions_.size(); }

  // The bytes at [address, address + size), or null if the plan does not cover them.
  const std::byte* Find(uint64_t address, uint32_t size) const {
    if (hint_ < regions_.size()) {
      const Region& region = regions_[hint_];
      if (address >= region.start && address - region.start + size <= region.size) {
        return bytes_.data() + region.offset + (address - region.start);
      }
    }
    return FindElsewhere(address, size);
  }

 private:
  struct Region {
    uint64_t start = 0;
    uint32_t size = 0;
    uint32_t offset = 0;
  };
  const std::byte* FindElsewhere(uint64_t address, uint32_t size) const;

  std::vector<Region> regions_;  // sorted by start after Seal
  std::vector<std::byte> bytes_;
  mutable size_t hint_ = 0;  // the region of the last successful Find
};

}  // namespace ptrace_prof
