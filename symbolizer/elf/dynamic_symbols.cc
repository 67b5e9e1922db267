#include "symbolizer/elf/dynamic_symbols.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxDynamicEntries = 4096;
constexpr uint64_t kMaxSymbols = 1 << 18;
constexpr uint64_t kMaxStringBytes = 8 << 20;
constexpr uint64_t kMaxHashWords = 1 << 20;  // size of the Bloom filter, or of the buckets

// Values of the dynamic section; 0 = absent.
struct DynamicTags {
  uint64_t symbols = 0;
  uint64_t strings = 0;
  uint64_t string_bytes = 0;
  uint64_t symbol_size = sizeof(Elf64_Sym);
  uint64_t hash = 0;
  uint64_t gnu_hash = 0;
};

struct TagRule {
  int64_t tag;
  uint64_t DynamicTags::*field;
};

constexpr TagRule kTagRules[] = {
    {DT_SYMTAB, &DynamicTags::symbols},     {DT_STRTAB, &DynamicTags::strings}, {DT_STRSZ, &DynamicTags::string_bytes},
    {DT_SYMENT, &DynamicTags::symbol_size}, {DT_HASH, &DynamicTags::hash},      {DT_GNU_HASH, &DynamicTags::gnu_hash},
};

template <typename T>
std::optional<std::vector<T>> ReadArray(RemoteMemory& memory, RemoteAddr from, uint64_t count) {
  std::vector<T> items(count);
  if (count != 0 && memory.Read(from, items.data(), count * sizeof(T)) != ReadStatus::kOk) {
    return std::nullopt;
  }
  return items;
}

DynamicTags DecodeTags(std::span<const Elf64_Dyn> entries) {
  DynamicTags tags;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) {
      break;
    }
    for (const TagRule& rule : kTagRules) {
      if (rule.tag == entry.d_tag) {
        tags.*rule.field = entry.d_un.d_val;
      }
    }
  }
  return tags;
}

class Reader {
 public:
  Reader(RemoteMemory& memory, const ElfImage& image, const DynamicTags& tags)
      : memory_(memory), image_(image), tags_(tags) {}

  std::shared_ptr<const SymbolTable> Read() {
    if (tags_.symbols == 0 || tags_.strings == 0 || tags_.string_bytes > kMaxStringBytes ||
        tags_.symbol_size != sizeof(Elf64_Sym)) {
      return nullptr;
    }
    const uint64_t count = CountSymbols().value_or(0);
    if (count == 0 || count > kMaxSymbols) {
      return nullptr;
    }
    const auto symbols = ReadArray<Elf64_Sym>(memory_, Resolve(tags_.symbols), count);
    auto strings = ReadArray<char>(memory_, Resolve(tags_.strings), tags_.string_bytes);
    if (!symbols.has_value() || !strings.has_value()) {
      return nullptr;
    }
    return std::make_shared<const SymbolTable>(*symbols, std::move(*strings));
  }

 private:
  // A pointer inside one of the segments as linked has not been relocated yet.
  RemoteAddr Resolve(uint64_t pointer) const {
    const bool as_linked = std::any_of(image_.segments().begin(), image_.segments().end(), [&](const ElfSegment& s) {
      return pointer >= s.vaddr && pointer - s.vaddr < s.size;
    });
    return as_linked ? image_.Address(pointer) : RemoteAddr(pointer);
  }

  std::optional<uint64_t> CountSymbols() {
    if (tags_.hash != 0) {
      std::array<uint32_t, 2> header{};  // buckets, chains: one chain entry per symbol
      if (memory_.ReadValue(Resolve(tags_.hash), &header) == ReadStatus::kOk) {
        return header[1];
      }
    }
    if (tags_.gnu_hash != 0) {
      return CountByGnuHash(Resolve(tags_.gnu_hash));
    }
    // No hash table: linkers put the strings directly after the symbols.
    const uint64_t distance = tags_.strings - tags_.symbols;
    return tags_.strings > tags_.symbols ? std::optional(distance / sizeof(Elf64_Sym)) : std::nullopt;
  }

  // The last symbol is the end of the chain that starts at the highest bucket.
  std::optional<uint64_t> CountByGnuHash(RemoteAddr table) {
    struct Header {
      uint32_t buckets;
      uint32_t first_hashed;
      uint32_t bloom_words;
      uint32_t bloom_shift;
    } header{};
    if (memory_.ReadValue(table, &header) != ReadStatus::kOk || header.buckets > kMaxHashWords ||
        header.bloom_words > kMaxHashWords) {
      return std::nullopt;
    }
    const RemoteAddr buckets = table + sizeof header + uint64_t{header.bloom_words} * sizeof(uint64_t);
    const auto heads = ReadArray<uint32_t>(memory_, buckets, header.buckets);
    if (!heads.has_value()) {
      return std::nullopt;
    }
    const uint32_t last = heads->empty() ? 0 : *std::max_element(heads->begin(), heads->end());
    if (last < header.first_hashed) {
      return header.first_hashed;
    }
    const RemoteAddr chains = buckets + uint64_t{header.buckets} * sizeof(uint32_t);
    return EndOfChain(chains, header.first_hashed, last);
  }

  std::optional<uint64_t> EndOfChain(RemoteAddr chains, uint64_t first_hashed, uint64_t symbol) {
    for (; symbol < kMaxSymbols; ++symbol) {
      uint32_t hash = 0;  // its lowest bit ends the chain
      if (memory_.ReadValue(chains + (symbol - first_hashed) * sizeof hash, &hash) != ReadStatus::kOk) {
        return std::nullopt;
      }
      if ((hash & 1) != 0) {
        return symbol + 1;
      }
    }
    return std::nullopt;
  }

  RemoteMemory& memory_;
  const ElfImage& image_;
  DynamicTags tags_;
};

}  // namespace

std::shared_ptr<const SymbolTable> ReadDynamicSymbols(RemoteMemory& memory, const ElfImage& image,
                                                      const DynamicSection& dynamic) {
  const uint64_t count = std::min<uint64_t>(dynamic.size / sizeof(Elf64_Dyn), kMaxDynamicEntries);
  const auto entries = ReadArray<Elf64_Dyn>(memory, dynamic.address, count);
  return entries.has_value() ? Reader(memory, image, DecodeTags(*entries)).Read() : nullptr;
}

}  // namespace ptrace_prof
