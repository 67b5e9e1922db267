#include "client/cli/printable.h"

#include <cstdint>

namespace ptrace_prof {
namespace {

constexpr char kReplacement = '?';

// The length of the well-formed UTF-8 character that `text` begins with, control characters excepted; else 0.
size_t CharacterLength(std::string_view text) {
  const auto at = [&](size_t i) -> uint8_t { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const auto follows = [&](size_t i) { return (at(i) & 0xc0) == 0x80; };
  const uint8_t first = at(0);
  if (first < 0x80) {
    return first >= 0x20 && first != 0x7f ? 1 : 0;
  }
  if (first >= 0xc2 && first < 0xe0) {
    const bool c1_control = first == 0xc2 && at(1) < 0xa0;
    return follows(1) && !c1_control ? 2 : 0;
  }
  if (first >= 0xe0 && first < 0xf0) {
    const bool overlong = first == 0xe0 && at(1) < 0xa0;
    const bool surrogate = first == 0xed && at(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool overlong = first == 0xf0 && at(1) < 0x90;
    const bool beyond = first == 0xf4 && at(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable;
  printable.reserve(text.size());
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) {
      printable += kReplacement;
      text.remove_prefix(1);
    } else {
      printable += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return printable;
}

}  // namespace ptrace_prof
