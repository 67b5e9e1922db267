#include "symbolizer/cpython/line_table.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

// Lines and columns are sums of deltas that the target controls: computed in 64 bits, returned clamped.
int32_t Clamp(int64_t value) { return static_cast<int32_t>(std::clamp<int64_t>(value, 0, INT32_MAX)); }

SourcePosition LineOnly(int64_t line) {
  SourcePosition position;
  position.line = position.end_line = Clamp(line);
  return position;
}

// CPython 3.8, 3.9 (Objects/lnotab_notes.txt): pairs of address increment and line increment; a line begins at the end
// address of its pair.
SourcePosition DecodeLnotab(std::span<const uint8_t> table, int32_t first_line, int64_t instruction,
                            LineCursor& cursor) {
  for (; cursor.at + 1 < table.size(); cursor.at += 2) {
    if (cursor.address + table[cursor.at] > instruction) {
      break;
    }
    cursor.address += table[cursor.at];
    cursor.lines += static_cast<int8_t>(table[cursor.at + 1]);
  }
  return LineOnly(first_line + cursor.lines);
}

// CPython 3.10 (PEP 626): pairs of length and line increment, each for the instructions that it covers; -128 means that
// they have no line.
SourcePosition DecodeLineTable310(std::span<const uint8_t> table, int32_t first_line, int64_t instruction,
                                  LineCursor& cursor) {
  if (instruction < 0) {
    return LineOnly(first_line);
  }
  constexpr int8_t kNoLine = -128;
  for (; cursor.at + 1 < table.size(); cursor.at += 2) {
    const auto delta = static_cast<int8_t>(table[cursor.at + 1]);
    const int64_t lines = cursor.lines + (delta == kNoLine ? 0 : delta);
    if (cursor.address + table[cursor.at] > instruction) {
      return delta == kNoLine ? SourcePosition{} : LineOnly(first_line + lines);
    }
    cursor.address += table[cursor.at];
    cursor.lines = lines;
  }
  return {};
}

// CPython 3.11+ (Objects/locations.md): an entry begins with a byte whose highest bit is set; no other byte has that
// bit.
class LocationEntries {
 public:
  LocationEntries(std::span<const uint8_t> table, int32_t first_line, const LineCursor& from)
      : table_(table), first_line_(first_line), next_(from) {}

  // False at the end of the table.
  bool Next() {
    while (next_.at < table_.size() && (table_[next_.at] & 0x80) == 0) {
      ++next_.at;
    }
    if (next_.at == table_.size()) {
      return false;
    }
    begin_ = next_;
    const uint8_t first = table_[next_.at++];
    next_.address += ((first & 7) + 1) * kCodeUnit;
    Decode((first >> 3) & 15);
    return true;
  }
  const LineCursor& begin() const { return begin_; }
  int64_t end() const { return next_.address; }
  const SourcePosition& position() const { return position_; }

 private:
  static constexpr int64_t kCodeUnit = 2;
  enum : unsigned { kOneLine0 = 10, kNoColumns = 13, kLong = 14, kNone = 15 };

  uint8_t Byte() { return next_.at < table_.size() && (table_[next_.at] & 0x80) == 0 ? table_[next_.at++] : 0; }

  // Six bits per byte, lowest first; CPython writes at most six bytes.
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
      next_.lines += SignedVarint();
    } else if (code >= kOneLine0) {
      next_.lines += code - kOneLine0;
    }
    const int64_t line = first_line_ + next_.lines;
    position_ = LineOnly(line);
    if (code == kLong) {
      position_.end_line = Clamp(line + Varint());
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
  int64_t first_line_;
  LineCursor begin_;
  LineCursor next_;
  SourcePosition position_;
};

SourcePosition DecodeLocationTable(std::span<const uint8_t> table, int32_t first_line, int64_t instruction,
                                   LineCursor& cursor) {
  if (instruction < 0) {
    return LineOnly(first_line);
  }
  LocationEntries entries(table, first_line, cursor);
  while (entries.Next()) {
    if (entries.end() > instruction) {
      cursor = entries.begin();
      return entries.position();
    }
  }
  return {};
}

}  // namespace

LineTableDecoder DecoderFor(LineTableKind kind) {
  switch (kind) {
    case LineTableKind::kLnotab: return LineTableDecoder(DecodeLnotab);
    case LineTableKind::kLineTable310: return LineTableDecoder(DecodeLineTable310);
    case LineTableKind::kLocationTable: break;
  }
  return LineTableDecoder(DecodeLocationTable);
}

}  // namespace ptrace_prof
