// A hash map for hot paths: open addressing, linear probing, grows by doubling, never erases single entries.
//
// Keys and values are trivially copyable; a lookup is one multiply and usually one cache line. Hash must spread
// its result over the high bits. Pointers into the map are invalidated by Insert and Clear. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ptrace_prof {

// Mixes two words into one whose high bits depend on every input bit.
inline uint64_t MixHash(uint64_t a, uint64_t b) {
  uint64_t h = (a ^ (b * 0x9E3779B97F4A7C15ULL)) * 0xBF58476D1CE4E5B9ULL;
  h ^= h >> 29;
  return h * 0x94D049BB133111EBULL;
}

template <typename Key, typename Value, typename Hash>
class FlatMap {
 public:
  explicit FlatMap(size_t initial_capacity = 64) : slots_(initial_capacity), shift_(ShiftFor(initial_capacity)) {}

  const Value* Find(const Key& key) const {
    for (size_t i = Hash{}(key) >> shift_;; i = (i + 1) & (slots_.size() - 1)) {
      if (!slots_[i].used) {
        return nullptr;
      }
      if (slots_[i].key == key) {
        return &slots_[i].value;
      }
    }
  }

  Value* Find(const Key& key) { return const_cast<Value*>(std::as_const(*this).Find(key)); }

  // Precondition: the key is not in the map.
  Value* Insert(const Key& key, Value value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) {
      Grow();
    }
    ++size_;
    return Place(key, std::move(value));
  }

  size_t size() const { return size_; }
  void Clear() {
    slots_.assign(64, Slot{});
    shift_ = ShiftFor(64);
    size_ = 0;
  }

 private:
  struct Slot {
    Key key{};
    Value value{};
    bool used = false;
  };

  static int ShiftFor(size_t capacity) {
    int bits = 0;
    while ((size_t{1} << bits) < capacity) {
      ++bits;
    }
    return 64 - bits;
  }

  Value* Place(const Key& key, Value value) {
    size_t i = Hash{}(key) >> shift_;
    while (slots_[i].used) {
      i = (i + 1) & (slots_.size() - 1);
    }
    slots_[i] = Slot{key, std::move(value), true};
    return &slots_[i].value;
  }

  void Grow() {
    std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(slots_.size() * 2));
    --shift_;
    for (Slot& slot : old) {
      if (slot.used) {
        Place(slot.key, std::move(slot.value));
      }
    }
  }

  std::vector<Slot> slots_;  // size is a power of two
  int shift_;
  size_t size_ = 0;
};

}  // namespace ptrace_prof
