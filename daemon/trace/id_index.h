// A hash index over items that are stored elsewhere and named by dense 32-bit ids: finds the id of an equal item.
//
// Open addressing with 12 bytes per slot: the id and its hash, so that growing needs no access to the items. Owned by
// the owner of the items. Not thread-safe. Ids must be smaller than 2^32 - 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ptrace_prof {

class IdIndex {
 public:
  IdIndex() { Clear(); }

  // Returns the id of the item with this hash for which same(id) holds. If there is none, stores and returns `fresh`.
  template <typename Same>
  uint32_t FindOrInsert(uint64_t hash, uint32_t fresh, Same same) {
    const auto mark = static_cast<uint32_t>(hash >> 32);
    size_t at = hash & mask_;
    for (; slots_[at].id_plus_one != 0; at = (at + 1) & mask_) {
      if (slots_[at].mark == mark && same(slots_[at].id_plus_one - 1)) {
        return slots_[at].id_plus_one - 1;
      }
    }
    slots_[at] = {fresh + 1, mark, static_cast<uint32_t>(hash)};
    if (++used_ * 2 > slots_.size()) {
      Grow();
    }
    return fresh;
  }

  void Clear() {
    slots_.assign(kInitialSlots, {});
    slots_.shrink_to_fit();
    mask_ = kInitialSlots - 1;
    used_ = 0;
  }

 private:
  struct Slot {
    uint32_t id_plus_one = 0;  // 0 = free
    uint32_t mark = 0;         // the hash's upper half, compared first
    uint32_t home = 0;         // the hash's lower half, which gives the position
  };
  static constexpr size_t kInitialSlots = 64;

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.id_plus_one == 0) {
        continue;
      }
      size_t at = slot.home & mask_;
      while (slots_[at].id_plus_one != 0) {
        at = (at + 1) & mask_;
      }
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t used_ = 0;
};

// Two numbers as one.
inline uint64_t PackBits(uint32_t high, uint32_t low) { return (uint64_t{high} << 32) | low; }

// Spreads the bits of a number over all 64 (the finalizer of MurmurHash3).
inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

}  // namespace ptrace_prof
