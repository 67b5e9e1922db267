#include "attach/proc/maps.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

// A process may have millions of mappings; beyond this the text is cut (about 600,000 lines).
constexpr size_t kMapsLimit = 64 << 20;
constexpr std::string_view kDeletedSuffix = " (deleted)";

// Reads one line from the left; every step returns whether it found what it expected.
class LineCursor {
 public:
  explicit LineCursor(std::string_view line) : rest_(line) {}

  template <typename T>
  bool Number(int base, T* to) {
    const auto [end, status] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), *to, base);
    if (status != std::errc()) {
      return false;
    }
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool Literal(char expected) {
    if (rest_.empty() || rest_.front() != expected) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }
  bool Take(size_t count, std::string_view* to) {
    if (rest_.size() < count) {
      return false;
    }
    *to = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return true;
  }
  void SkipSpaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// The kernel writes a newline in a path as \012 and escapes nothing else, so a name that contains the four characters
// \012 is ambiguous. Code that opens a path compares device and inode anyway.
std::string UnescapePath(std::string_view path) {
  constexpr std::string_view kNewline = "\\012";
  std::string plain;
  for (size_t escape; (escape = path.find(kNewline)) != std::string_view::npos;) {
    plain.append(path.substr(0, escape)).push_back('\n');
    path.remove_prefix(escape + kNewline.size());
  }
  return plain.append(path);
}

// 7f12a0000000-7f12a0021000 r-xp 00001000 fe:00 131 [spaces] /usr/bin/python3.11
std::optional<MemoryRegion> ParseLine(std::string_view line) {
  MemoryRegion region;
  LineCursor cursor(line);
  std::string_view permissions;
  const bool well_formed =
      cursor.Number(16, &region.start.value) && cursor.Literal('-') && cursor.Number(16, &region.end.value) &&
      cursor.Literal(' ') && cursor.Take(4, &permissions) && cursor.Literal(' ') &&
      cursor.Number(16, &region.file_offset) && cursor.Literal(' ') && cursor.Number(16, &region.device_major) &&
      cursor.Literal(':') && cursor.Number(16, &region.device_minor) && cursor.Literal(' ') &&
      cursor.Number(10, &region.inode);
  if (!well_formed || region.end <= region.start || (!cursor.rest().empty() && cursor.rest().front() != ' ')) {
    return std::nullopt;
  }
  region.readable = permissions[0] == 'r';
  region.writable = permissions[1] == 'w';
  region.executable = permissions[2] == 'x';
  cursor.SkipSpaces();
  std::string_view path = cursor.rest();
  if (path.ends_with(kDeletedSuffix)) {
    region.deleted = true;
    path.remove_suffix(kDeletedSuffix.size());
  }
  region.path = UnescapePath(path);
  return region;
}

}  // namespace

std::vector<MemoryRegion> ParseMaps(std::string_view text, size_t* malformed) {
  std::vector<MemoryRegion> regions;
  size_t skipped = 0;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
    if (auto region = ParseLine(line)) {
      regions.push_back(std::move(*region));
    } else {
      ++skipped;
    }
  }
  if (malformed != nullptr) {
    *malformed = skipped;
  }
  return regions;
}

Result<std::vector<MemoryRegion>> ReadMaps(Pid pid) {
  PP_ASSIGN_OR_RETURN(const std::string text, ReadProcFile(ProcPath(pid, "maps"), kMapsLimit));
  // Only a zombie (and a kernel thread, which cannot be a target) has no mappings.
  if (text.empty()) {
    return Because(Reason::kTargetExited, "process " + std::to_string(pid.value) + " has no memory: it has ended", "",
                   ThingOf(pid));
  }
  return ParseMaps(text);
}

}  // namespace ptrace_prof
