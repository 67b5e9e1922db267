#include "symbolizer/cpython/version_finder.h"

#include <charconv>

#include "attach/base/base_name.h"
#include "symbolizer/cpython/segment_scan.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxVersionText = 64;  // enough for the part that is parsed

// Removes a number from the front of `text`.
std::optional<uint8_t> TakeNumber(std::string_view& text) {
  uint8_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) {
    return false;
  }
  text.remove_prefix(prefix.size());
  return true;
}

struct Level {
  std::string_view name;
  uint8_t value;
};
constexpr Level kLevels[] = {{"a", 0xA}, {"b", 0xB}, {"rc", 0xC}};

std::optional<PythonVersion> FromConstant(RemoteMemory& memory, const ElfImage& image) {
  const auto symbol = image.FindSymbol("Py_Version");
  uint32_t hex = 0;
  if (!symbol || memory.ReadValue(image.Address(symbol->value), &hex) != ReadStatus::kOk) {
    return std::nullopt;
  }
  const PythonVersion version = PythonVersion::FromHex(hex);
  return version.major == 3 ? std::optional(version) : std::nullopt;
}

// Py_GetVersion builds sys.version in a static buffer, which follows a NUL or begins its segment.
std::optional<PythonVersion> FromText(RemoteMemory& memory, const ElfImage& image) {
  std::optional<PythonVersion> found;
  ScanWritableSegments(memory, image, [&](RemoteAddr, std::span<const std::byte> bytes) {
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (size_t dot = text.find('.', 1); dot != std::string_view::npos && !found; dot = text.find('.', dot + 1)) {
      const size_t start = dot - 1;
      if ((text[start] == '3' || text[start] == '2') && (start == 0 || text[start - 1] == '\0')) {
        found = ParseVersionText(text.substr(start, kMaxVersionText));
      }
    }
    return !found.has_value();
  });
  return found;
}

}  // namespace

std::optional<PythonVersion> ParseVersionText(std::string_view text) {
  PythonVersion version;
  const auto major = TakeNumber(text);
  const auto minor = major && TakePrefix(text, ".") ? TakeNumber(text) : std::nullopt;
  const auto micro = minor && TakePrefix(text, ".") ? TakeNumber(text) : std::nullopt;
  if (!micro) {
    return std::nullopt;
  }
  version.major = *major;
  version.minor = *minor;
  version.micro = *micro;
  for (const Level& level : kLevels) {
    if (TakePrefix(text, level.name)) {
      version.release_level = level.value;
      version.serial = TakeNumber(text).value_or(0);
    }
  }
  TakePrefix(text, "+");
  return text.starts_with(" (") ? std::optional(version) : std::nullopt;
}

std::optional<PythonVersion> ParseVersionInName(std::string_view path) {
  std::string_view name = BaseName(path);
  const size_t at = name.find("python");
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  name.remove_prefix(at + std::string_view("python").size());
  const auto major = TakeNumber(name);
  const auto minor = major && TakePrefix(name, ".") ? TakeNumber(name) : std::nullopt;
  if (!minor) {
    return std::nullopt;
  }
  PythonVersion version;
  version.major = *major;
  version.minor = *minor;
  return version;
}

std::optional<PythonVersion> FindVersion(RemoteMemory& memory, const ElfImage& image, std::string_view path) {
  if (const auto version = FromConstant(memory, image)) {
    return version;
  }
  if (const auto version = FromText(memory, image)) {
    return version;
  }
  return ParseVersionInName(path);
}

}  // namespace ptrace_prof
