#include "attach/base/clean_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace ptrace_prof {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Characters that are invisible, or that move the text beside them, in order. The joiners U+200C and U+200D are not
// included: scripts and emoji need them.
constexpr Range kHidden[] = {
    {0x0000, 0x001F},    // C0 controls
    {0x007F, 0x009F},    // DELETE, C1 controls
    {0x061C, 0x061C},    // ARABIC LETTER MARK
    {0x180E, 0x180E},    // MONGOLIAN VOWEL SEPARATOR
    {0x200B, 0x200B},    // ZERO WIDTH SPACE
    {0x200E, 0x200F},    // marks of direction
    {0x2028, 0x202E},    // line and paragraph separator; embeddings and overrides of direction
    {0x2060, 0x206F},    // invisible operators; isolates of direction
    {0xD800, 0xDFFF},    // surrogates
    {0xFDD0, 0xFDEF},    // noncharacters
    {0xFEFF, 0xFEFF},    // byte order mark
    {0xFFF9, 0xFFFB},    // interlinear annotation
    {0xFFFE, 0xFFFF},    // noncharacters
    {0xE0000, 0xE0FFF},  // tags, more variation selectors
};

bool IsHidden(uint32_t point) {
  const Range* range =
      std::upper_bound(std::begin(kHidden), std::end(kHidden), point,
                       [](uint32_t wanted, const Range& candidate) { return wanted < candidate.first; });
  return (range != std::begin(kHidden) && point <= std::prev(range)->last) || (point & 0xFFFE) == 0xFFFE;
}

struct Character {
  size_t length;  // bytes; 0: invalid UTF-8
  uint32_t point;
};

Character FirstOf(std::string_view bytes) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) {
    return {1, first};
  }
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() < length) {
    return {0, 0};
  }
  uint32_t point = first & (0xFFu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) {
      return {0, 0};
    }
    point = point << 6 | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= 0xD800 && point <= 0xDFFF;
  return point < kSmallest[length] || point > 0x10FFFF || is_surrogate ? Character{0, 0} : Character{length, point};
}

void AppendEscape(std::string& text, uint32_t point) {
  if (point < 0x100) {
    fmt::format_to(std::back_inserter(text), "\\x{:02x}", point);
  } else if (point < 0x10000) {
    fmt::format_to(std::back_inserter(text), "\\u{:04x}", point);
  } else {
    fmt::format_to(std::back_inserter(text), "\\U{:08x}", point);
  }
}

}  // namespace

std::string CleanText(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const Character character = FirstOf(bytes);
    if (character.length == 0) {
      AppendEscape(text, static_cast<uint8_t>(bytes[0]));
      bytes.remove_prefix(1);
      continue;
    }
    if (IsHidden(character.point)) {
      AppendEscape(text, character.point);
    } else {
      text.append(bytes.substr(0, character.length));
    }
    bytes.remove_prefix(character.length);
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
