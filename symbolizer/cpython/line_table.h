// Maps an instruction to its source position: three encodings, one signature. Hostile input is safe: any bytes give
// some answer, in time linear in the table. A LineCursor remembers the position of the last answer, so a table of
// megabytes is decoded only once while its function runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct SourcePosition {
  int32_t line = 0;  // 0: the instruction has no line
  int32_t end_line = 0;
  int32_t column = -1;  // 0-based byte offsets; -1: unknown
  int32_t end_column = -1;
};

// The start of a table entry: the sum of all entries before it.
struct LineCursor {
  size_t at = 0;        // byte offset in the table
  int64_t address = 0;  // the first instruction that the entry covers
  int64_t lines = 0;    // added to the first line
};

class LineTableDecoder {
 public:
  using Decode = SourcePosition (*)(std::span<const uint8_t> table, int32_t first_line, int64_t instruction,
                                    LineCursor& cursor);

  explicit constexpr LineTableDecoder(Decode decode) : decode_(decode) {}

  // `instruction` is the byte offset of the instruction in the code, negative before the first one. `cursor`: from an
  // earlier answer with the same table, or a new one; moved to the position of this answer.
  SourcePosition operator()(std::span<const uint8_t> table, int32_t first_line, int64_t instruction,
                            LineCursor& cursor) const {
    if (instruction < cursor.address) {
      cursor = {};
    }
    return decode_(table, first_line, instruction, cursor);
  }
  SourcePosition operator()(std::span<const uint8_t> table, int32_t first_line, int64_t instruction) const {
    LineCursor cursor;
    return decode_(table, first_line, instruction, cursor);
  }

 private:
  Decode decode_;
};

LineTableDecoder DecoderFor(LineTableKind kind);

}  // namespace ptrace_prof
