#include <stdio.h>
#include <string.h>

#include "reference.h"

#define FIELD(text, member) {text, offsetof(struct Layout, member)}
static const struct {
  const char *name;
  size_t member;
} kFields[] = {
    FIELD("version", version),
    FIELD("told.version", reported_version),
    FIELD("told.size", reported_size),
    FIELD("free_threaded", free_threaded),
    FIELD("runtime.interpreters", runtime_interpreters),
    FIELD("interpreter.next", interpreter_next),
    FIELD("interpreter.threads", interpreter_threads),
    FIELD("thread.next", thread_next),
    FIELD("thread.native_id", thread_native_id),
    FIELD("thread.pthread", thread_pthread),
    FIELD("thread.cframe", thread_cframe),
    FIELD("thread.frame", thread_frame),
    FIELD("thread.chunk", thread_chunk),
    FIELD("frame.size", frame_size),
    FIELD("frame.back", frame_back),
    FIELD("frame.code", frame_code),
    FIELD("frame.owner", frame_owner),
    FIELD("code.size", code_size),
    FIELD("code.file", code_file),
    FIELD("code.name", code_name),
    FIELD("code.line", code_line),
    FIELD("object.type", object_type),
    FIELD("str.length", str_length),
    FIELD("str.state", str_state),
    FIELD("str.ascii_text", str_ascii_text),
    FIELD("str.compact_text", str_compact_text),
    FIELD("str.kind_bits", str_kind_bits),
    FIELD("str.compact_bit", str_compact_bit),
    FIELD("str.ascii_bit", str_ascii_bit),
};

static long *Member(struct Layout *layout, const char *name) {
  for (size_t index = 0; index < sizeof kFields / sizeof *kFields; ++index) {
    if (strcmp(kFields[index].name, name) == 0) return (long *)((char *)layout + kFields[index].member);
  }
  return NULL;
}

// The target's description of itself begins with a cookie and the version that its headers had.
static bool Reports(pid_t pid, uint64_t runtime, const struct Layout *layout) {
  char cookie[8];
  uint64_t version;
  return ReadMemory(pid, runtime, cookie, sizeof cookie) && memcmp(cookie, "xdebugpy", 8) == 0 &&
         ReadMemory(pid, runtime + (uint64_t)layout->reported_version, &version, 8) && (long)version == layout->version;
}

bool ReadLayout(const char *path, pid_t pid, uint64_t runtime, struct Layout *layout) {
  char name[64], kind[16];
  long value;
  FILE *file = fopen(path, "r");
  if (!file) return false;
  for (size_t at = 0; at < sizeof *layout / sizeof(long); ++at) ((long *)layout)[at] = kAbsent;
  while (fscanf(file, "%63s %15s %ld", name, kind, &value) == 3) {
    long *member = Member(layout, name);
    if (!member) continue;
    *member = value;
    if (strcmp(kind, "told") == 0) {
      uint64_t reported = 0;
      if (!Reports(pid, runtime, layout) || !ReadMemory(pid, runtime + (uint64_t)value, &reported, 8)) {
        fprintf(stderr, "the process is not what the headers say\n");
        fclose(file);
        return false;
      }
      *member = (long)reported;
    }
  }
  fclose(file);
  return layout->code_size > 0 && layout->code_size <= kMaxCode && layout->frame_size > 0;
}
