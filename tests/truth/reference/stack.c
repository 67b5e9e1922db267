#include <stdlib.h>
#include <string.h>

#include "reference.h"

enum { kMaxChunks = 64, kChunkBytes = 1 << 22, kFrameBytes = 256, kOwnedByC = 3 };

// The data stack of the thread, which holds most frames. It consists of chunks: {previous, size, top, data…}.
struct Chunk {
  uint64_t address, size;
  char *bytes;
};
static struct Chunk chunks[kMaxChunks];
static int chunk_count;
static char chunk_bytes[kChunkBytes];

static void ReadChunks(pid_t pid, uint64_t address) {
  size_t used = 0;
  chunk_count = 0;
  while (address && chunk_count < kMaxChunks) {
    uint64_t head[2];
    if (!ReadMemory(pid, address, head, sizeof head) || head[1] > kChunkBytes - used) return;
    struct Chunk chunk = {address, head[1], chunk_bytes + used};
    if (!ReadMemory(pid, address, chunk.bytes, chunk.size)) return;
    used += chunk.size;
    chunks[chunk_count++] = chunk;
    address = head[0];
  }
}

static bool ReadFrame(pid_t pid, uint64_t address, char *into, size_t size) {
  for (int index = 0; index < chunk_count; ++index) {
    if (address >= chunks[index].address && address + size <= chunks[index].address + chunks[index].size) {
      memcpy(into, chunks[index].bytes + (address - chunks[index].address), size);
      return true;
    }
  }
  return ReadMemory(pid, address, into, size);
}

static uint64_t WordAt(const char *bytes, long offset) {
  uint64_t word;
  memcpy(&word, bytes + offset, 8);
  return word;
}

// The code objects of the frames, innermost first; -1 if the chain is broken.
static int Chain(pid_t pid, const struct Layout *layout, uint64_t frame, uint64_t *codes) {
  char bytes[kFrameBytes];
  size_t size = (size_t)layout->frame_size < sizeof bytes ? (size_t)layout->frame_size : sizeof bytes;
  int depth = 0;
  while (frame) {
    if (depth == kMaxFrames || !ReadFrame(pid, frame, bytes, size)) return -1;
    bool shim = layout->frame_owner != kAbsent && layout->version >= 0x030C0000 && bytes[layout->frame_owner] >= kOwnedByC;
    if (!shim) codes[depth++] = WordAt(bytes, layout->frame_code) & ~(uint64_t)7;  // references have tags from 3.14 on
    frame = WordAt(bytes, layout->frame_back);
  }
  return depth;
}

static int ByAddress(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

// Reads every code object of the chain once, all in one call.
static int Look(pid_t pid, uint64_t code_type, const struct Layout *layout, const uint64_t *codes, int depth, uint64_t *distinct,
                int *functions) {
  static struct Piece pieces[kMaxFrames];
  static char bytes[kMaxFrames][kMaxCode];
  int count = 0;
  memcpy(distinct, codes, sizeof *codes * (size_t)depth);
  qsort(distinct, (size_t)depth, sizeof *distinct, ByAddress);
  for (int index = 0; index < depth; ++index) {
    if (index && distinct[index] == distinct[index - 1]) continue;
    distinct[count] = distinct[index];
    pieces[count] = (struct Piece){distinct[index], bytes[count], (size_t)layout->code_size};
    ++count;
  }
  if (!ReadPieces(pid, pieces, count)) return -1;
  for (int index = 0; index < count; ++index) {
    const char *code = bytes[index];
    functions[index] = -1;
    if (WordAt(code, layout->object_type) != code_type) return -1;
    struct CodeFacts facts = {distinct[index], WordAt(code, layout->code_file), WordAt(code, layout->code_name), 0};
    memcpy(&facts.line, code + layout->code_line, sizeof facts.line);
    functions[index] = FunctionOf(pid, layout, &facts);
    if (functions[index] < 0) return -1;
  }
  return count;
}

int ReadStack(pid_t pid, uint64_t code_type, const struct Layout *layout, const struct Thread *thread, int *functions) {
  static uint64_t codes[kMaxFrames], distinct[kMaxFrames];
  static int found[kMaxFrames];
  chunk_count = 0;
  ReadChunks(pid, thread->chunk);
  int depth = Chain(pid, layout, thread->frame, codes);
  if (depth <= 0) return depth;
  int count = Look(pid, code_type, layout, codes, depth, distinct, found);
  if (count < 0) return -1;
  int kept = 0;
  for (int index = 0; index < depth; ++index) {
    const uint64_t *place = bsearch(&codes[index], distinct, (size_t)count, sizeof *distinct, ByAddress);
    int function = found[place - distinct];
    if (!IsShim(function)) functions[kept++] = function;
  }
  return kept;
}
