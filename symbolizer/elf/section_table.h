// The sections of an ELF file that occupy memory, by name. Immutable value.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {

class SectionTable {
 public:
  void Add(std::string name, const ElfSegment& section) { sections_.emplace_back(std::move(name), section); }

  std::optional<ElfSegment> Find(std::string_view name) const {
    const auto found = std::find_if(sections_.begin(), sections_.end(), [&](const auto& s) { return s.first == name; });
    return found != sections_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  std::vector<std::pair<std::string, ElfSegment>> sections_;
};

}  // namespace ptrace_prof
