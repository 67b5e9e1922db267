#include "symbolizer/elf/dynamic_symbols.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace ptrace_prof {
namespace {

constexpr uint64_t kMaxSymbols = 1 << 18;
constexpr uint64_t kMaxStringBytes = 8 << 20;
constexpr uint64_t kMaxHashWords = 1 << 20;  // size of the Bloom filter, or of the buckets

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
  RemoteAddr Resolve(uint64_t pointer) const { return ResolveDynamic(image_, pointer); }

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
  const auto tags = ReadDynamicTags(memory, dynamic);
  return tags.has_value() ? Reader(memory, image, *tags).Read() : nullptr;
}

}  // namespace ptrace_prof
