#include "attach/base/clean_text.h"

#include <cstdint>

namespace ptrace_prof {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the valid, printable UTF-8 character at the start of `bytes`; 0 = none.
size_t CharacterLength(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7F ? 1 : 0;
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() < length) {
    return 0;
  }
  uint32_t point = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return 0;
    }
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0xA0, 0x800, 0x10000};  // 0x80..0x9F are control characters
  const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
  const bool line_or_direction = (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
  const bool noncharacter = (point & 0xFFFE) == 0xFFFE;
  return point < kSmallest[length] || point > 0x10FFFF || surrogate || line_or_direction || noncharacter ? 0 : length;
}

}  // namespace

std::string CleanText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const size_t length = CharacterLength(bytes);
    text.append(length > 0 ? bytes.substr(0, length) : kReplacement);
    bytes.remove_prefix(length > 0 ? length : 1);
  }
  return text;
}

std::string Shortened(const std::string& text, size_t limit) {
  size_t characters = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80 && characters++ == limit) {
      return text.substr(0, i) + "..";
    }
  }
  return text;
}

}  // namespace ptrace_prof
