// Any bytes as a line table, in each of the three encodings. The first two bytes choose the instruction.
#include <cstdlib>
#include <span>

#include "symbolizer/cpython/line_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  if (size < 2) {
    return 0;
  }
  const int64_t instruction = static_cast<int16_t>(data[0] | data[1] << 8);
  const std::span<const uint8_t> table(data + 2, size - 2);
  for (const LineTableKind kind :
       {LineTableKind::kLnotab, LineTableKind::kLineTable310, LineTableKind::kLocationTable}) {
    for (const int32_t first_line : {1, INT32_MAX, INT32_MIN}) {
      const SourcePosition found = DecoderFor(kind)(table, first_line, instruction);
      if (found.line < 0 || found.end_line < 0 || found.column < -1 || found.end_column < -1) {
        std::abort();
      }
      LineCursor cursor;
      for (const int64_t at : {instruction / 2, instruction, instruction / 3, instruction}) {
        const SourcePosition near = DecoderFor(kind)(table, first_line, at, cursor);
        if (at == instruction && (near.line != found.line || near.end_column != found.end_column)) {
          std::abort();
        }
      }
    }
  }
  return 0;
}
