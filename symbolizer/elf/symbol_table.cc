#include "symbolizer/elf/symbol_table.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace ptrace_prof {
namespace {

// Whether it names an address in the image, and not a thread-local offset, a section, a file name or an absolute
// number.
bool NamesAnAddress(const Elf64_Sym& symbol) {
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) {
    return false;
  }
  switch (ELF64_ST_TYPE(symbol.st_info)) {
    case STT_NOTYPE:
    case STT_OBJECT:
    case STT_FUNC:
    case STT_GNU_IFUNC: return true;
    default: return false;
  }
}

}  // namespace

SymbolTable::SymbolTable(std::span<const Elf64_Sym> symbols, std::vector<char> strings) : strings_(std::move(strings)) {
  for (const Elf64_Sym& symbol : symbols) {
    const std::string_view name = NamesAnAddress(symbol) ? NameAt(symbol.st_name) : std::string_view();
    if (!name.empty()) {
      const bool local = ELF64_ST_BIND(symbol.st_info) == STB_LOCAL;
      entries_.push_back({name, {symbol.st_value, symbol.st_size}, local});
    }
  }
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.name, a.local) < std::tie(b.name, b.local);
  });
}

std::string_view SymbolTable::NameAt(uint32_t offset) const {
  if (offset >= strings_.size()) {
    return {};
  }
  const char* start = strings_.data() + offset;
  const void* end = std::memchr(start, '\0', strings_.size() - offset);
  return end == nullptr ? std::string_view() : std::string_view(start, static_cast<const char*>(end) - start);
}

std::optional<ElfSymbol> SymbolTable::Find(std::string_view name) const {
  const auto found = std::lower_bound(entries_.begin(), entries_.end(), name,
                                      [](const Entry& entry, std::string_view wanted) { return entry.name < wanted; });
  return found != entries_.end() && found->name == name ? std::optional(found->symbol) : std::nullopt;
}

}  // namespace ptrace_prof
