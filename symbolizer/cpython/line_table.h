// From an instruction to its source position: three encodings, one signature. Total on hostile input: any bytes
// give some answer, in time linear in the table.
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

// `instruction` is the byte offset of the instruction in the code, negative before the first one.
using LineTableDecoder = SourcePosition (*)(std::span<const uint8_t> table, int32_t first_line, int64_t instruction);

LineTableDecoder DecoderFor(LineTableKind kind);

}  // namespace ptrace_prof
