#include "symbolizer/cpython/line_table.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

// Lines and columns are sums of deltas that the target made up: kept in 64 bits, given out clamped.
int32_t Clamp(int64_t value) { return static_cast<int32_t>(std::clamp<int64_t>(value, 0, INT32_MAX)); }

SourcePosition LineOnly(int64_t line) {
  SourcePosition position;
  position.line = position.end_line = Clamp(line);
  return position;
}

// CPython 3.8, 3.9 (Objects/lnotab_notes.txt): pairs of address increment and line increment; a line begins at the
// address that its pair ends at.
SourcePosition DecodeLnotab(std::span<const uint8_t> table, int32_t first_line, int64_t instruction) {
  int64_t line = first_line;
  int64_t address = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    address += table[i];
    if (address > instruction) {
      break;
    }
    line += static_cast<int8_t>(table[i + 1]);
  }
  return LineOnly(line);
}

// CPython 3.10 (PEP 626): pairs of length and line increment, each for the instructions that it covers; -128 says
// that they have no line.
SourcePosition DecodeLineTable310(std::span<const uint8_t> table, int32_t first_line, int64_t instruction) {
  if (instruction < 0) {
    return LineOnly(first_line);
  }
  constexpr int8_t kNoLine = -128;
  int64_t line = first_line;
  int64_t end = 0;
  for (size_t i = 0; i + 1 < table.size(); i += 2) {
    end += table[i];
    const auto delta = static_cast<int8_t>(table[i + 1]);
    line += delta == kNoLine ? 0 : delta;
    if (end > instruction) {
      return delta == kNoLine ? SourcePosition{} : LineOnly(line);
    }
  }
  return {};
}

// CPython 3.11+ (Objects/locations.md): entries that begin with the only byte whose highest bit is set.
class LocationEntries {
 public:
  LocationEntries(std::span<const uint8_t> table, int32_t first_line) : table_(table), line_(first_line) {}

  // False at the end of the table.
  bool Next() {
    while (at_ < table_.size() && (table_[at_] & 0x80) == 0) {
      ++at_;
    }
    if (at_ == table_.size()) {
      return false;
    }
    const uint8_t first = table_[at_++];
    end_ += ((first & 7) + 1) * kCodeUnit;
    Decode((first >> 3) & 15);
    return true;
  }
  int64_t end() const { return end_; }
  const SourcePosition& position() const { return position_; }

 private:
  static constexpr int64_t kCodeUnit = 2;
  enum : unsigned { kOneLine0 = 10, kNoColumns = 13, kLong = 14, kNone = 15 };

  uint8_t Byte() { return at_ < table_.size() && (table_[at_] & 0x80) == 0 ? table_[at_++] : 0; }

  // Six bits a byte, lowest first; more than six bytes are not a number of CPython's.
  uint32_t Varint() {
    uint32_t value = 0;
    for (unsigned shift = 0; shift < 36; shift += 6) {
      const uint32_t byte = Byte();
      value |= shift < 30 ? (byte & 63) << shift : (byte & 3) << 30;
      if ((byte & 64) == 0) {
        break;
      }
    }
    return value;
  }
  int64_t SignedVarint() {
    const uint32_t value = Varint();
    return (value & 1) != 0 ? -static_cast<int64_t>(value >> 1) : static_cast<int64_t>(value >> 1);
  }

  void Decode(unsigned code) {
    position_ = {};
    if (code == kNone) {
      return;
    }
    if (code == kLong || code == kNoColumns) {
      line_ += SignedVarint();
    } else if (code >= kOneLine0) {
      line_ += code - kOneLine0;
    }
    position_ = LineOnly(line_);
    if (code == kLong) {
      position_.end_line = Clamp(line_ + Varint());
      position_.column = static_cast<int32_t>(Clamp(Varint())) - 1;
      position_.end_column = static_cast<int32_t>(Clamp(Varint())) - 1;
    } else if (code < kOneLine0) {
      const uint8_t columns = Byte();
      position_.column = static_cast<int32_t>(code << 3 | columns >> 4);
      position_.end_column = position_.column + (columns & 15);
    } else if (code < kNoColumns) {
      position_.column = Byte();
      position_.end_column = Byte();
    }
  }

  std::span<const uint8_t> table_;
  size_t at_ = 0;
  int64_t line_;
  int64_t end_ = 0;
  SourcePosition position_;
};

SourcePosition DecodeLocationTable(std::span<const uint8_t> table, int32_t first_line, int64_t instruction) {
  if (instruction < 0) {
    return LineOnly(first_line);
  }
  LocationEntries entries(table, first_line);
  while (entries.Next()) {
    if (entries.end() > instruction) {
      return entries.position();
    }
  }
  return {};
}

}  // namespace

LineTableDecoder DecoderFor(LineTableKind kind) {
  switch (kind) {
    case LineTableKind::kLnotab: return DecodeLnotab;
    case LineTableKind::kLineTable310: return DecodeLineTable310;
    case LineTableKind::kLocationTable: return DecodeLocationTable;
  }
  return DecodeLocationTable;
}

}  // namespace ptrace_prof
