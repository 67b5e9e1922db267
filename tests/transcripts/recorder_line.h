// One line of a transcript: a JSON object that is written with one write(2) to a file opened for appending, so that
// threads do not wait for each other and lines do not mix. No lock, no allocation; any thread, launch paths included.
#ifndef TESTS_TRANSCRIPTS_RECORDER_LINE_H
#define TESTS_TRANSCRIPTS_RECORDER_LINE_H

#include <stdint.h>

enum { kLineBytes = 4096 };

struct line {
  char text[kLineBytes];
  unsigned used;
};

// Opens the file; the number of lines in it so far.
void line_open_file(const char* path);

// What happened, on which thread (recorder_names.h). Numbers come from one count for the whole process: a line whose
// event was over before another event began has the lower number.
void line_begin(struct line* line, const char* event);
void line_number(struct line* line, const char* key, uint64_t value);
void line_result(struct line* line, const char* key, int32_t value);
void line_text(struct line* line, const char* key, const char* value);  // NULL: null; ASCII letters only
void line_name(struct line* line, const char* key, const char* what, uint32_t number);      // "what#number"; 0: null
void line_bytes(struct line* line, const char* key, const uint8_t* bytes, uint32_t count);  // at most 1024, in hex
void line_end(struct line* line);

#endif
