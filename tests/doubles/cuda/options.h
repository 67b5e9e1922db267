// The options of a test for the doubles: PP_CUDA_DOUBLE="key=value,key=value" in the job's environment. README.md lists
// the keys.
#ifndef TESTS_DOUBLES_CUDA_OPTIONS_H
#define TESTS_DOUBLES_CUDA_OPTIONS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int64_t double_option(const char* key, int64_t otherwise) {
  static const char* all;  // read once, as some options are used on every launch
  if (!all) all = getenv("PP_CUDA_DOUBLE") ? getenv("PP_CUDA_DOUBLE") : "";
  const char* text = all;
  size_t length = strlen(key);
  while (text && *text) {
    if (strncmp(text, key, length) == 0 && text[length] == '=') return strtoll(text + length + 1, NULL, 0);
    text = strchr(text, ',');
    if (text) text++;
  }
  return otherwise;
}

#endif
