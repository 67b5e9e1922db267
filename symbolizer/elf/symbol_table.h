// The defined symbols of one table of an ELF file, found by name.
//
// Made from raw bytes of the target or of a file (hostile): entries whose name is outside the strings, or not
// terminated, are left out. Immutable; the names point into the table's own copy of the strings.
#pragma once

#include <elf.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {

class SymbolTable {
 public:
  // `symbols`: .symtab or .dynsym; `strings`: its string table.
  SymbolTable(std::span<const Elf64_Sym> symbols, std::vector<char> strings);
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // If several have the same name, a global one comes before a local one.
  std::optional<ElfSymbol> Find(std::string_view name) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string_view name;
    ElfSymbol symbol;
    bool local;
  };
  // The string at `offset`; empty if there is none.
  std::string_view NameAt(uint32_t offset) const;

  std::vector<char> strings_;
  std::vector<Entry> entries_;  // sorted by name, then globals first
};

}  // namespace ptrace_prof
