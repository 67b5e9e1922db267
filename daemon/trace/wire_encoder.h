// Appends protobuf wire format to a byte buffer: the writer's only encoder, on the hot path and elsewhere.
//
// The caller clears the buffer, which keeps its capacity, so that steady use does not allocate. Independent of
// messages: field numbers come from the generated headers of perfetto.proto and extension.proto. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace ptrace_prof {

// The tags of fields with a number below 16: one byte each.
constexpr uint8_t VarintTag(int field) { return static_cast<uint8_t>(field << 3); }
constexpr uint8_t LengthTag(int field) { return static_cast<uint8_t>(field << 3 | 2); }

class WireEncoder {
 public:
  std::string& buffer() { return buffer_; }
  const std::string& buffer() const { return buffer_; }
  bool empty() const { return buffer_.empty(); }
  void Clear() { buffer_.clear(); }

  void RawVarint(uint64_t value) {
    char bytes[kMaxVarint];
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
      bytes[size++] = static_cast<char>(value | 0x80);
    }
    bytes[size++] = static_cast<char>(value);
    buffer_.append(bytes, size);
  }
  void Varint(int field, uint64_t value) {
    Tag(field, kVarint);
    RawVarint(value);
  }
  void SignedVarint(int field, int64_t value) { Varint(field, static_cast<uint64_t>(value)); }
  // The default value of a field is not written.
  void VarintIfSet(int field, uint64_t value) {
    if (value != 0) {
      Varint(field, value);
    }
  }
  void DoubleIfSet(int field, double value) {
    if (value == 0) {
      return;
    }
    Tag(field, kFixed64);
    uint64_t bits = std::bit_cast<uint64_t>(value);
    for (int i = 0; i < 8; ++i, bits >>= 8) {
      buffer_.push_back(static_cast<char>(bits));
    }
  }
  void Bytes(int field, std::string_view bytes) {
    Tag(field, kLength);
    RawVarint(bytes.size());
    buffer_.append(bytes);
  }
  void StringIfSet(int field, std::string_view text) {
    if (!text.empty()) {
      Bytes(field, text);
    }
  }
  // A nested message: `fill` appends its fields to this encoder.
  template <typename Fill>
  void Message(int field, Fill fill) {
    Tag(field, kLength);
    const size_t length_at = buffer_.size();
    buffer_.push_back(0);  // one byte of length is enough for most messages
    fill();
    FixLength(length_at);
  }

 private:
  static constexpr size_t kMaxVarint = 10;
  static constexpr uint32_t kVarint = 0;
  static constexpr uint32_t kFixed64 = 1;
  static constexpr uint32_t kLength = 2;

  void Tag(int field, uint32_t type) { RawVarint(static_cast<uint64_t>(field) << 3 | type); }

  void FixLength(size_t length_at) {
    uint64_t length = buffer_.size() - length_at - 1;
    if (length < 0x80) {
      buffer_[length_at] = static_cast<char>(length);
      return;
    }
    char bytes[kMaxVarint];
    size_t size = 0;
    for (; length >= 0x80; length >>= 7) {
      bytes[size++] = static_cast<char>(length | 0x80);
    }
    bytes[size++] = static_cast<char>(length);
    buffer_.replace(length_at, 1, bytes, size);
  }

  std::string buffer_;
};

}  // namespace ptrace_prof
