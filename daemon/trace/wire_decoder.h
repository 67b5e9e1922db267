// Iterates over the fields of one protobuf message in a byte range: the reader's only decoder.
//
// The bytes are hostile: iteration ends at the first invalid field, and `damaged` is set. Never allocates, never
// recurses, never reads outside the range. Groups (wire types 3 and 4) count as damage.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ptrace_prof {

struct WireField {
  uint32_t number = 0;
  uint64_t value = 0;      // of a number; 0 for others
  std::string_view bytes;  // of a string or a nested message; empty for others

  int32_t AsInt32() const { return static_cast<int32_t>(value); }
  int64_t AsSigned() const { return static_cast<int64_t>(value); }
  double AsDouble() const { return std::bit_cast<double>(value); }
};

class WireDecoder {
 public:
  explicit WireDecoder(std::string_view message) : rest_(message) {}

  // False at the end of the message or at damage.
  bool Next(WireField& field) {
    if (rest_.empty()) {
      return false;
    }
    uint64_t tag = 0;
    if (!ReadVarint(rest_, tag) || tag >> 32 != 0 || tag >> 3 == 0) {
      return Damage();
    }
    field = {static_cast<uint32_t>(tag >> 3), 0, {}};
    switch (tag & 7) {
      case 0: return ReadVarint(rest_, field.value) || Damage();
      case 1: return ReadFixed(8, field.value) || Damage();
      case 5: return ReadFixed(4, field.value) || Damage();
      case 2: return ReadBytes(field.bytes) || Damage();
      default: return Damage();
    }
  }
  bool damaged() const { return damaged_; }

  // Takes a varint off the front of `bytes`; false if there is no whole one.
  static bool ReadVarint(std::string_view& bytes, uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < bytes.size() && i < 10; ++i) {
      const auto byte = static_cast<uint8_t>(bytes[i]);
      value |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) {
        bytes.remove_prefix(i + 1);
        return true;
      }
    }
    return false;
  }

 private:
  bool ReadFixed(size_t size, uint64_t& value) {
    if (rest_.size() < size) {
      return false;
    }
    for (size_t i = 0; i < size; ++i) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(rest_[i])) << (8 * i);
    }
    rest_.remove_prefix(size);
    return true;
  }
  bool ReadBytes(std::string_view& bytes) {
    uint64_t size = 0;
    if (!ReadVarint(rest_, size) || size > rest_.size()) {
      return false;
    }
    bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }
  bool Damage() {
    damaged_ = true;
    rest_ = {};
    return false;
  }

  std::string_view rest_;
  bool damaged_ = false;
};

}  // namespace ptrace_prof
