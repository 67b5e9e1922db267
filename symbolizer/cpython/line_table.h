// From an instruction to its source position: three encodings, one signature. Total on hostile input: any bytes
// give some answer, in time linear in the table; a LineCursor saves the way to where the last one was found, so that a
// function whose table has megabytes is gone through once as it runs.
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

// Where one entry of a table begins: what all entries before it come to.
struct LineCursor {
  size_t at = 0;        // in the table
  int64_t address = 0;  // the first instruction that the entry is about
  int64_t lines = 0;    // beyond the first line
};

class LineTableDecoder {
 public:
  using Decode = SourcePosition (*)(std::span<const uint8_t> table, int32_t first_line, int64_t instruction,
                                    LineCursor& cursor);

  explicit constexpr LineTableDecoder(Decode decode) : decode_(decode) {}

  // `instruction` is the byte offset of the instruction in the code, negative before the first one. `cursor`: of an
  // earlier answer from the same table, or a new one; moved to where this answer was found.
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
