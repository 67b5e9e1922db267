// A cursor over untrusted bytes: every step is bounded and reports whether it succeeded.
//
// Little-endian, as all supported machines are. Does not own the bytes. A failed step does not move the cursor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace ptrace_prof {

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }

  template <typename T>
  [[nodiscard]] bool Read(T* to) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (left() < sizeof(T)) {
      return false;
    }
    std::memcpy(to, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return true;
  }
  [[nodiscard]] bool Take(size_t size, std::span<const uint8_t>* to) {
    if (left() < size) {
      return false;
    }
    *to = bytes_.subspan(offset_, size);
    offset_ += size;
    return true;
  }
  [[nodiscard]] bool Skip(size_t size) {
    std::span<const uint8_t> ignored;
    return Take(size, &ignored);
  }
  // Skips to a multiple of `alignment` (a power of two), counted from the first byte; stops at the end.
  void Align(size_t alignment) {
    const size_t aligned = (offset_ + alignment - 1) & ~(alignment - 1);
    offset_ = aligned < bytes_.size() ? aligned : bytes_.size();
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t offset_ = 0;
};

}  // namespace ptrace_prof
