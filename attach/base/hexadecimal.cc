#include "attach/base/hexadecimal.h"

#include <charconv>
#include <cstdint>

namespace ptrace_prof {
namespace {

constexpr int kBase = 16;
constexpr size_t kDigits = 2;
constexpr char kLower[] = "0123456789abcdef";

}  // namespace

std::string ToHexadecimal(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size() * kDigits);
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    text += kLower[byte / kBase];
    text += kLower[byte % kBase];
  }
  return text;
}

std::optional<std::string> FromHexadecimal(std::string_view text) {
  if (text.size() % kDigits != 0) {
    return std::nullopt;
  }
  std::string bytes;
  bytes.reserve(text.size() / kDigits);
  for (size_t at = 0; at < text.size(); at += kDigits) {
    uint8_t byte = 0;
    const char* const end = text.data() + at + kDigits;
    const auto parsed = std::from_chars(text.data() + at, end, byte, kBase);
    if (parsed.ec != std::errc() || parsed.ptr != end) {
      return std::nullopt;
    }
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

}  // namespace ptrace_prof
