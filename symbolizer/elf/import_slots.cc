#include "symbolizer/elf/import_slots.h"

#include <elf.h>

#include <algorithm>
#include <utility>

#include "symbolizer/elf/dynamic_section.h"
#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kMaxRelocations = 1 << 20;  // of one table; a large library has 40,000
constexpr uint64_t kMaxImports = 1 << 20;
constexpr uint64_t kMaxImportNames = 64 << 20;

#ifdef __aarch64__
constexpr uint32_t kSlotTypes[] = {R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
#else
constexpr uint32_t kSlotTypes[] = {R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
#endif

struct Slot {
  uint64_t at = 0;  // as linked
  uint64_t symbol = 0;
};

void TakeSlots(RemoteMemory& memory, RemoteAddr from, uint64_t bytes, std::vector<Slot>& slots) {
  const uint64_t count = bytes / sizeof(Elf64_Rela);
  const auto entries = ReadArray<Elf64_Rela>(memory, from, count <= kMaxRelocations ? count : 0);
  if (!entries.has_value()) {
    return;
  }
  for (const Elf64_Rela& entry : *entries) {
    if (std::ranges::count(kSlotTypes, ELF64_R_TYPE(entry.r_info)) > 0 && ELF64_R_SYM(entry.r_info) < kMaxImports) {
      slots.push_back({entry.r_offset, ELF64_R_SYM(entry.r_info)});
    }
  }
}

std::vector<Slot> ReadSlots(RemoteMemory& memory, const ElfImage& image, const DynamicTags& tags) {
  std::vector<Slot> slots;
  if (tags.jumps != 0) {
    TakeSlots(memory, ResolveDynamic(image, tags.jumps), tags.jump_bytes, slots);
  }
  const uint64_t relative = tags.relative_relocations;
  if (tags.relocations != 0 && relative < tags.relocation_bytes / sizeof(Elf64_Rela)) {
    const uint64_t skipped = relative * sizeof(Elf64_Rela);
    TakeSlots(memory, ResolveDynamic(image, tags.relocations) + skipped, tags.relocation_bytes - skipped, slots);
  }
  return slots;
}

}  // namespace

std::vector<ImportSlot> FindImportSlots(RemoteMemory& memory, RemoteAddr header,
                                        std::span<const std::string_view> functions) {
  const Result<ElfImage> image = ElfImage::FromMemory(memory, header);
  const auto tags = image.has_value() && image.value().dynamic().has_value()
                        ? ReadDynamicTags(memory, *image.value().dynamic())
                        : std::nullopt;
  if (!tags.has_value() || tags->relocation_size != sizeof(Elf64_Rela) || tags->symbol_size != sizeof(Elf64_Sym) ||
      tags->string_bytes > kMaxImportNames || tags->symbols == 0 || tags->strings == 0) {
    return {};
  }
  const std::vector<Slot> slots = ReadSlots(memory, image.value(), *tags);
  const auto last = std::ranges::max_element(slots, {}, &Slot::symbol);
  if (last == slots.end()) {
    return {};
  }
  const auto symbols = ReadArray<Elf64_Sym>(memory, ResolveDynamic(image.value(), tags->symbols), last->symbol + 1);
  auto strings = ReadArray<char>(memory, ResolveDynamic(image.value(), tags->strings), tags->string_bytes);
  if (!symbols.has_value() || !strings.has_value()) {
    return {};
  }
  strings->push_back('\0');
  std::vector<ImportSlot> found;
  for (const Slot& slot : slots) {
    const uint64_t name = (*symbols)[slot.symbol].st_name;
    const auto function = name < strings->size()
                              ? std::ranges::find(functions, std::string_view(strings->data() + name))
                              : functions.end();
    if (function != functions.end()) {
      found.push_back({image.value().Address(slot.at), static_cast<size_t>(function - functions.begin())});
    }
  }
  return found;
}

}  // namespace ptrace_prof
