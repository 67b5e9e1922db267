// A hash map from non-zero 32-bit numbers to interning ids of a packet sequence, with 8 bytes per slot. An empty map
// needs no allocation: there are five per thread (attach/base/flat_map.h trades that for speed and any key).
//
// Open addressing; single entries cannot be removed, only all at once. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptrace_prof {

class IidMap {
 public:
  size_t size() const { return used_; }

  // The value of the key, 0 if it has none.
  uint32_t Find(uint32_t key) const {
    if (slots_.empty()) {
      return 0;
    }
    return slots_[PlaceOf(key)].value;
  }
  // The key must not be in the map; neither key nor value may be 0.
  void Insert(uint32_t key, uint32_t value) {
    if ((used_ + 1) * 2 > slots_.size()) {
      Grow();
    }
    slots_[PlaceOf(key)] = {key, value};
    ++used_;
  }
  void Clear() {
    slots_ = {};
    used_ = 0;
  }

 private:
  struct Slot {
    uint32_t key = 0;
    uint32_t value = 0;
  };

  size_t PlaceOf(uint32_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (key * uint64_t{0x9e3779b97f4a7c15} >> 32) & mask;
    while (slots_[at].key != key && slots_[at].key != 0) {
      at = (at + 1) & mask;
    }
    return at;
  }
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != 0) {
        slots_[PlaceOf(slot.key)] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

}  // namespace ptrace_prof
