// Converts CPython's string storage (Latin-1, UCS-2, UCS-4) to UTF-8. Pure; any bytes give valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ptrace_prof {

// Lone surrogates and invalid code points become U+FFFD.
void AppendUtf8(std::string& text, uint32_t code_point);

// `width` is 1, 2 or 4 bytes per character. At most `max_bytes` of UTF-8, whole characters.
std::string Utf8Of(std::span<const std::byte> characters, size_t width, size_t max_bytes);

// Shortens to at most `max_bytes`, at a character boundary.
void CutUtf8(std::string& text, size_t max_bytes);

}  // namespace ptrace_prof
