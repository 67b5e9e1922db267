// ElfImage::AddFile: reads what only the file has. libelf reads it with read(2), never by mapping it, so a file that
// shrinks meanwhile causes an error and not a signal.
#include <libelf.h>

#include <memory>
#include <span>

#include "symbolizer/elf/elf_headers.h"
#include "symbolizer/elf/elf_image.h"
#include "symbolizer/elf/section_table.h"
#include "symbolizer/elf/symbol_table.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxSections = 1 << 16;
constexpr uint64_t kMaxTableBytes = 16 << 20;  // CPython needs 1 MiB; a larger table is left out

struct ElfCloser {
  void operator()(Elf* elf) const { ::elf_end(elf); }
};
using ElfHandle = std::unique_ptr<Elf, ElfCloser>;

Error FileError(Code code, const std::string& reason) { return {code, "the file of a mapped program: " + reason, ""}; }

Result<ElfHandle> OpenElf(int fd) {
  if (::elf_version(EV_CURRENT) == EV_NONE) {
    return FileError(Code::kInternal, "libelf is older than its headers");
  }
  ElfHandle elf(::elf_begin(fd, ELF_C_READ, nullptr));
  // Also refuses archives and 32-bit files, which have no Elf64_Ehdr.
  const Elf64_Ehdr* header = elf != nullptr ? ::elf64_getehdr(elf.get()) : nullptr;
  if (header == nullptr) {
    return FileError(Code::kInvalidArgument, "there is no ELF header (64-bit) in it");
  }
  PP_RETURN_IF_ERROR(CheckElfHeader(*header, "the file of a mapped program"));
  return elf;
}

std::span<const uint8_t> ReadBytes(Elf* elf, uint64_t offset, uint64_t size) {
  const Elf_Data* data = ::elf_getdata_rawchunk(elf, static_cast<int64_t>(offset), size, ELF_T_BYTE);
  if (data == nullptr || data->d_buf == nullptr) {
    return {};
  }
  return {static_cast<const uint8_t*>(data->d_buf), data->d_size};
}

struct Identity {
  std::vector<uint8_t> build_id;
  std::vector<uint8_t> program_headers;
};

Identity ReadIdentity(Elf* elf) {
  Identity identity;
  const Elf64_Ehdr* header = ::elf64_getehdr(elf);
  const auto raw = ReadBytes(elf, header->e_phoff, size_t{header->e_phnum} * sizeof(Elf64_Phdr));
  identity.program_headers.assign(raw.begin(), raw.end());
  for (const Elf64_Phdr& segment : DecodeProgramHeaders(raw)) {
    if (segment.p_type == PT_NOTE && segment.p_filesz <= kMaxNoteBytes && identity.build_id.empty()) {
      identity.build_id = FindBuildId(ReadBytes(elf, segment.p_offset, segment.p_filesz), segment.p_align);
    }
  }
  return identity;
}

std::span<const uint8_t> SectionBytes(Elf_Scn* section) {
  const Elf64_Shdr* header = ::elf64_getshdr(section);
  if (header == nullptr || header->sh_size > kMaxTableBytes || header->sh_type == SHT_NOBITS) {
    return {};
  }
  const Elf_Data* data = ::elf_rawdata(section, nullptr);  // refuses sections that are not inside the file
  if (data == nullptr || data->d_buf == nullptr) {
    return {};
  }
  return {static_cast<const uint8_t*>(data->d_buf), data->d_size};
}

std::shared_ptr<const SymbolTable> ReadSymbols(Elf* elf, Elf_Scn* section) {
  const Elf64_Shdr* header = ::elf64_getshdr(section);
  Elf_Scn* string_section = ::elf_getscn(elf, header->sh_link);
  if (header->sh_entsize != sizeof(Elf64_Sym) || string_section == nullptr) {
    return nullptr;
  }
  const auto raw = SectionBytes(section);
  std::vector<Elf64_Sym> symbols(raw.size() / sizeof(Elf64_Sym));
  std::copy_n(raw.data(), symbols.size() * sizeof(Elf64_Sym), reinterpret_cast<uint8_t*>(symbols.data()));
  const auto strings = SectionBytes(string_section);
  return std::make_shared<const SymbolTable>(symbols, std::vector<char>(strings.begin(), strings.end()));
}

}  // namespace

Result<void> ElfImage::AddFile(int fd, FileParts parts) {
  PP_ASSIGN_OR_RETURN(const ElfHandle elf, OpenElf(fd));
  const Identity identity = ReadIdentity(elf.get());
  const bool same =
      identity.build_id == build_id_ && (!build_id_.empty() || identity.program_headers == program_headers_);
  if (!same) {
    return FileError(Code::kFailedPrecondition, "it differs from the mapped file, so it may have been replaced");
  }
  size_t names = 0;
  if (::elf_getshdrstrndx(elf.get(), &names) != 0) {
    return {};  // sections stripped: nothing to add
  }
  auto sections = std::make_shared<SectionTable>();
  Elf_Scn* section = nullptr;
  for (size_t i = 0; i < kMaxSections && (section = ::elf_nextscn(elf.get(), section)) != nullptr; ++i) {
    const Elf64_Shdr* header = ::elf64_getshdr(section);
    if (header == nullptr) {
      break;
    }
    if (header->sh_type == SHT_SYMTAB && file_symbols_ == nullptr && parts == FileParts::kAll) {
      file_symbols_ = ReadSymbols(elf.get(), section);
    }
    const char* name = (header->sh_flags & SHF_ALLOC) != 0 ? ::elf_strptr(elf.get(), names, header->sh_name) : nullptr;
    if (name != nullptr) {
      sections->Add(name, {header->sh_addr, header->sh_size, (header->sh_flags & SHF_WRITE) != 0,
                           (header->sh_flags & SHF_EXECINSTR) != 0});
    }
  }
  sections_ = std::move(sections);
  return {};
}

}  // namespace ptrace_prof
