#include "tests/transcripts/recorder_line.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/transcripts/recorder_names.h"

enum { kRoomForEnd = 4 };

static int file = -1;
static _Atomic uint64_t lines;

void line_open_file(const char* path) {
  file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file >= 0) return;
  perror(path);
  abort();
}

static void put(struct line* line, char letter) {
  if (line->used < kLineBytes - kRoomForEnd) line->text[line->used++] = letter;
}

static void put_text(struct line* line, const char* text) {
  for (; *text; text++) put(line, *text);
}

static void put_key(struct line* line, const char* key) {
  put_text(line, line->used > 1 ? ", \"" : "\"");
  put_text(line, key);
  put_text(line, "\": ");
}

static void put_number(struct line* line, uint64_t value) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + value % 10);
    value /= 10;
  } while (value);
  while (count) put(line, digits[--count]);
}

void line_begin(struct line* line, const char* event) {
  const char* thread = thread_name(event);
  line->used = 0;
  put(line, '{');
  line_number(line, "line", atomic_fetch_add(&lines, 1) + 1);
  line_text(line, "thread", thread);
  line_text(line, "event", event);
}

void line_number(struct line* line, const char* key, uint64_t value) {
  put_key(line, key);
  put_number(line, value);
}

void line_result(struct line* line, const char* key, int32_t value) {
  put_key(line, key);
  if (value < 0) put(line, '-');
  put_number(line, (uint64_t)(value < 0 ? -(int64_t)value : value));
}

void line_text(struct line* line, const char* key, const char* value) {
  put_key(line, key);
  if (!value) {
    put_text(line, "null");
    return;
  }
  put(line, '"');
  for (; *value; value++) put(line, *value >= ' ' && *value <= '~' && *value != '"' && *value != '\\' ? *value : '?');
  put(line, '"');
}

void line_name(struct line* line, const char* key, const char* what, uint32_t number) {
  put_key(line, key);
  if (!number) {
    put_text(line, "null");
    return;
  }
  put(line, '"');
  put_text(line, what);
  put(line, '#');
  put_number(line, number);
  put(line, '"');
}

void line_bytes(struct line* line, const char* key, const uint8_t* bytes, uint32_t count) {
  static const char digits[] = "0123456789abcdef";
  put_key(line, key);
  put(line, '"');
  for (uint32_t i = 0; i < count; i++) {
    put(line, digits[bytes[i] >> 4]);
    put(line, digits[bytes[i] & 15]);
  }
  put(line, '"');
}

void line_end(struct line* line) {
  line->text[line->used++] = '}';
  line->text[line->used++] = '\n';
  if (write(file, line->text, line->used) != (ssize_t)line->used) abort();  // a transcript with gaps is useless
}
