#include "symbolizer/elf/elf_headers.h"

#include <cstring>
#include <string_view>

#include "attach/base/byte_reader.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxBuildId = 64;  // SHA-1 has 20 bytes, and linkers make at most 32
constexpr std::string_view kGnuOwner("GNU\0", 4);

struct HeaderRule {
  bool (*holds)(const Elf64_Ehdr& header);
  const char* otherwise;
};

constexpr HeaderRule kRules[] = {
    {[](const Elf64_Ehdr& h) { return std::memcmp(h.e_ident, ELFMAG, SELFMAG) == 0; }, "there is no ELF header"},
    {[](const Elf64_Ehdr& h) { return h.e_ident[EI_CLASS] == ELFCLASS64; },
     "the program is not 64-bit, and only 64-bit programs are supported"},
    {[](const Elf64_Ehdr& h) { return h.e_ident[EI_DATA] == ELFDATA2LSB; },
     "the program is big-endian, and only little-endian programs are supported"},
    {[](const Elf64_Ehdr& h) { return h.e_ident[EI_VERSION] == EV_CURRENT; }, "the ELF version is unknown"},
    {[](const Elf64_Ehdr& h) { return h.e_type == ET_EXEC || h.e_type == ET_DYN; },
     "the ELF file is neither a program nor a library"},
    {[](const Elf64_Ehdr& h) { return h.e_phentsize == sizeof(Elf64_Phdr); }, "the program headers have an odd size"},
    {[](const Elf64_Ehdr& h) { return h.e_phnum > 0 && h.e_phnum <= kMaxProgramHeaders; },
     "there are no program headers, or too many"},
};

}  // namespace

Result<void> CheckElfHeader(const Elf64_Ehdr& header, const std::string& where) {
  for (const HeaderRule& rule : kRules) {
    if (!rule.holds(header)) {
      return Error{Code::kInvalidArgument, where + ": " + rule.otherwise, ""};
    }
  }
  return {};
}

std::vector<Elf64_Phdr> DecodeProgramHeaders(std::span<const uint8_t> raw) {
  std::vector<Elf64_Phdr> headers;
  ByteReader reader(raw);
  for (Elf64_Phdr header; reader.Read(&header);) {
    headers.push_back(header);
  }
  return headers;
}

std::vector<uint8_t> FindBuildId(std::span<const uint8_t> notes, uint64_t alignment) {
  const size_t padding = alignment == 8 ? 8 : 4;
  ByteReader reader(notes);
  for (Elf64_Nhdr note; reader.Read(&note);) {
    std::span<const uint8_t> owner;
    std::span<const uint8_t> content;
    if (!reader.Take(note.n_namesz, &owner)) {
      break;
    }
    reader.Align(padding);
    if (!reader.Take(note.n_descsz, &content)) {
      break;
    }
    reader.Align(padding);
    const bool gnu = owner.size() == kGnuOwner.size() && std::memcmp(owner.data(), kGnuOwner.data(), owner.size()) == 0;
    if (gnu && note.n_type == NT_GNU_BUILD_ID && content.size() <= kMaxBuildId) {
      return {content.begin(), content.end()};
    }
  }
  return {};
}

}  // namespace ptrace_prof
