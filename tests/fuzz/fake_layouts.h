// Layouts of every CPython we know, for fuzzers: the compiled-in ones, and made-up descriptions for versions that
// describe themselves.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "symbolizer/cpython/debug_offsets.h"
#include "symbolizer/cpython/debug_offsets_table.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {

inline Layout Described(PythonVersion version, uint64_t free_threaded) {
  std::vector<uint64_t> words = {0, uint64_t{version.major} << 24 | uint64_t{version.minor} << 16 | 0xF0,
                                 free_threaded};
  std::memcpy(words.data(), "xdebugpy", 8);
  uint64_t offset = 128;
  for (const DebugOffsetsEntry& entry : DebugOffsetsEntries(version)) {
    const bool is_header = entry.name.starts_with("pyobject.");  // the fields that begin every object
    const bool is_size = entry.name.ends_with(".size");
    offset = is_header ? 0 : is_size ? 128 : offset;
    words.push_back(is_size ? (is_header ? 16 : 1024) : offset += 8);
  }
  const Result<Layout> layout = ImportDebugOffsets(std::as_bytes(std::span(words)));
  if (layout.has_error()) {
    std::fprintf(stderr, "%s\n", layout.error().message.c_str());
    std::abort();  // the fuzzer would test nothing
  }
  return layout.value();
}

inline std::vector<Layout> AllLayouts() {
  std::vector<Layout> layouts;
  for (const VersionFacts& version : SupportedVersions()) {
    layouts.push_back(version.describes_itself ? Described({3, version.minor, 0, 0xF, 0}, 0)
                                               : LayoutFor({3, version.minor, 1, 0xF, 0}, false).value());
  }
  layouts.push_back(Described({3, 14, 0, 0xF, 0}, 1));
  return layouts;
}

}  // namespace ptrace_prof
