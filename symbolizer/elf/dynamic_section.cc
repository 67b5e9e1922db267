#include "symbolizer/elf/dynamic_section.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxDynamicEntries = 4096;

struct TagRule {
  int64_t tag;
  uint64_t DynamicTags::*field;
};

constexpr TagRule kTagRules[] = {
    {DT_SYMTAB, &DynamicTags::symbols},
    {DT_STRTAB, &DynamicTags::strings},
    {DT_STRSZ, &DynamicTags::string_bytes},
    {DT_SYMENT, &DynamicTags::symbol_size},
    {DT_HASH, &DynamicTags::hash},
    {DT_GNU_HASH, &DynamicTags::gnu_hash},
    {DT_RELA, &DynamicTags::relocations},
    {DT_RELASZ, &DynamicTags::relocation_bytes},
    {DT_RELAENT, &DynamicTags::relocation_size},
    {DT_RELACOUNT, &DynamicTags::relative_relocations},
    {DT_JMPREL, &DynamicTags::jumps},
    {DT_PLTRELSZ, &DynamicTags::jump_bytes},
};

}  // namespace

std::optional<DynamicTags> ReadDynamicTags(RemoteMemory& memory, const DynamicSection& dynamic) {
  const uint64_t count = std::min<uint64_t>(dynamic.size / sizeof(Elf64_Dyn), kMaxDynamicEntries);
  const auto entries = ReadArray<Elf64_Dyn>(memory, dynamic.address, count);
  if (!entries.has_value()) {
    return std::nullopt;
  }
  DynamicTags tags;
  for (const Elf64_Dyn& entry : *entries) {
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

}  // namespace ptrace_prof
