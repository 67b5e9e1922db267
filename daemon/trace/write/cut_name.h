// The longest name or path that a trace carries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ptrace_prof {

inline constexpr size_t kMaxTraceName = 16 * 1024;

// At most kMaxTraceName bytes, not cut inside a UTF-8 character.
inline std::string_view CutName(std::string_view text) {
  if (text.size() <= kMaxTraceName) {
    return text;
  }
  size_t end = kMaxTraceName;
  while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end);
}

}  // namespace ptrace_prof
