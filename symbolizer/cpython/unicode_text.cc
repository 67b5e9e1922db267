#include "symbolizer/cpython/unicode_text.h"

#include <cstring>

namespace ptrace_prof {

void AppendUtf8(std::string& text, uint32_t c) {
  if ((c >= 0xD800 && c <= 0xDFFF) || c > 0x10FFFF) {
    c = 0xFFFD;
  }
  if (c < 0x80) {
    text.push_back(static_cast<char>(c));
    return;
  }
  if (c < 0x800) {
    text.push_back(static_cast<char>(0xC0 | c >> 6));
  } else {
    if (c < 0x10000) {
      text.push_back(static_cast<char>(0xE0 | c >> 12));
    } else {
      text.push_back(static_cast<char>(0xF0 | c >> 18));
      text.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    }
    text.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
  }
  text.push_back(static_cast<char>(0x80 | (c & 0x3F)));
}

std::string Utf8Of(std::span<const std::byte> characters, size_t width, size_t max_bytes) {
  std::string text;
  text.reserve(std::min(characters.size(), max_bytes));
  for (size_t at = 0; at + width <= characters.size(); at += width) {
    uint32_t c = 0;  // little-endian, like all targets of this architecture
    std::memcpy(&c, characters.data() + at, width);
    const size_t before = text.size();
    AppendUtf8(text, c);
    if (text.size() > max_bytes) {
      text.resize(before);
      break;
    }
  }
  return text;
}

void CutUtf8(std::string& text, size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return;
  }
  size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  text.resize(end);
}

}  // namespace ptrace_prof
