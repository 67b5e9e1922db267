#include <stdio.h>
#include <string.h>

#include "reference.h"

enum { kMaxText = 4096, kMaxFunctions = 1 << 16, kPool = 1 << 24 };

static struct Function {
  struct CodeFacts facts;
  const char *name, *file;
  int next;  // next with the same hash; -1: none
} functions[kMaxFunctions];
static int function_count;
static int first_of[kMaxFunctions];  // by hash: number + 1
static char pool[kPool];
static size_t pooled;

static void Put(uint32_t point) {
  char *at = pool + pooled;
  if (point < 0x20 || point == '\\' || point == 0x7F) {
    pooled += (size_t)snprintf(at, 8, "\\x%02x", point);
  } else if (point < 0x80) {
    pool[pooled++] = (char)point;
  } else if (point < 0x800) {
    pool[pooled++] = (char)(0xC0 | point >> 6);
    pool[pooled++] = (char)(0x80 | (point & 63));
  } else if (point < 0x10000) {
    pool[pooled++] = (char)(0xE0 | point >> 12);
    pool[pooled++] = (char)(0x80 | (point >> 6 & 63));
    pool[pooled++] = (char)(0x80 | (point & 63));
  } else {
    pool[pooled++] = (char)(0xF0 | point >> 18);
    pool[pooled++] = (char)(0x80 | (point >> 12 & 63));
    pool[pooled++] = (char)(0x80 | (point >> 6 & 63));
    pool[pooled++] = (char)(0x80 | (point & 63));
  }
}

// A str of the target as UTF-8; NULL if it is none, or is longer than names are.
static const char *ReadText(pid_t pid, const struct Layout *layout, uint64_t address) {
  unsigned char text[kMaxText];
  uint64_t length = 0;
  uint32_t state = 0;
  struct Piece pieces[2] = {{address + (uint64_t)layout->str_length, &length, 8}, {address + (uint64_t)layout->str_state, &state, 4}};
  if (!ReadPieces(pid, pieces, 2) || !(state & (uint32_t)layout->str_compact_bit)) return NULL;
  uint32_t kind_bits = (uint32_t)layout->str_kind_bits;
  uint32_t kind = (state & kind_bits) / (kind_bits & -kind_bits);
  if ((kind != 1 && kind != 2 && kind != 4) || length > kMaxText / kind || pooled + length * 4 + 8 > kPool) return NULL;
  bool ascii = (state & (uint32_t)layout->str_ascii_bit) != 0;
  uint64_t begin = address + (uint64_t)(ascii ? layout->str_ascii_text : layout->str_compact_text);
  if (length && !ReadMemory(pid, begin, text, length * kind)) return NULL;
  const char *result = pool + pooled;
  for (uint64_t index = 0; index < length; ++index) {
    uint32_t point = 0;
    memcpy(&point, text + index * kind, kind);
    Put(point);
  }
  pool[pooled++] = 0;
  return result;
}

int FunctionOf(pid_t pid, const struct Layout *layout, const struct CodeFacts *facts) {
  uint64_t mixed = (facts->address >> 4) * 0x9E3779B97F4A7C15u ^ (facts->name >> 3);
  int *first = &first_of[(mixed >> 20) % kMaxFunctions];
  for (int number = *first - 1; number >= 0; number = functions[number].next) {
    const struct CodeFacts *known = &functions[number].facts;
    if (known->address == facts->address && known->file == facts->file && known->name == facts->name &&
        known->line == facts->line) {
      return number;
    }
  }
  if (function_count == kMaxFunctions) return -1;
  struct Function *function = &functions[function_count];
  function->facts = *facts;
  function->name = ReadText(pid, layout, facts->name);
  function->file = ReadText(pid, layout, facts->file);
  if (!function->name || !function->file) return -1;
  function->next = *first - 1;
  *first = ++function_count;
  return function_count - 1;
}

// The code object that calls __init__ for a new instance (3.13 and later); it is not a function of the program.
bool IsShim(int function) { return strcmp(functions[function].file, "__init__") == 0; }

void PrintFunctions(void) {
  for (int number = 0; number < function_count; ++number) {
    printf("function %d %d\t%s\t%s\n", number, functions[number].facts.line, functions[number].name, functions[number].file);
  }
}
