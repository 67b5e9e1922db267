// Functions that a compiler may call implicitly. They are defined here because nothing is linked.
#include <stddef.h>

void* memcpy(void* to, const void* from, size_t size) {
  for (size_t i = 0; i < size; ++i) ((char*)to)[i] = ((const char*)from)[i];
  return to;
}

void* memmove(void* to, const void* from, size_t size) {
  if (to <= from) return memcpy(to, from, size);
  for (size_t i = size; i > 0; --i) ((char*)to)[i - 1] = ((const char*)from)[i - 1];
  return to;
}

void* memset(void* to, int byte, size_t size) {
  for (size_t i = 0; i < size; ++i) ((char*)to)[i] = (char)byte;
  return to;
}

int memcmp(const void* one, const void* other, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    const int difference = ((const unsigned char*)one)[i] - ((const unsigned char*)other)[i];
    if (difference) return difference;
  }
  return 0;
}
