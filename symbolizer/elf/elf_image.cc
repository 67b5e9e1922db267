#include "symbolizer/elf/elf_image.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "symbolizer/elf/dynamic_symbols.h"
#include "symbolizer/elf/elf_headers.h"
#include "symbolizer/elf/section_table.h"
#include "symbolizer/elf/symbol_table.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kPageMask = 4095;  // the smallest page size of Linux

Error ReadError(ReadStatus status, RemoteAddr at) {
  switch (status) {
    case ReadStatus::kGone: return {Code::kGone, "the process has ended", ""};
    case ReadStatus::kDenied: return {Code::kPermissionDenied, "the kernel does not allow reading the process", ""};
    default: return {Code::kInvalidArgument, fmt::format("memory at {:#x} cannot be read", at.value), ""};
  }
}

// The difference between mapped and linked addresses. `header` is the address of file offset 0: the first page of a
// PT_LOAD whose offset is in the first page of the file. That page may be mapped twice (a small file whose data start
// in it); at a fixed address (ET_EXEC) the right mapping is known.
Result<RemoteAddr> FindBias(const Elf64_Ehdr& elf, std::span<const Elf64_Phdr> headers, RemoteAddr header) {
  bool found = false;
  RemoteAddr bias;
  for (const Elf64_Phdr& load : headers) {
    if (load.p_type != PT_LOAD || load.p_offset > kPageMask || load.p_filesz == 0) {
      continue;
    }
    const RemoteAddr candidate = header - (load.p_vaddr - load.p_offset);
    if (!found || (elf.e_type == ET_EXEC && candidate.IsNull())) {
      bias = candidate;
      found = true;
    }
  }
  if (!found || (bias.value & kPageMask) != 0) {
    return Error{Code::kInvalidArgument,
                 fmt::format("the ELF image at {:#x} does not map its own header", header.value), ""};
  }
  return bias;
}

}  // namespace

Result<ElfImage> ElfImage::FromMemory(RemoteMemory& memory, RemoteAddr header) {
  Elf64_Ehdr elf{};
  if (const ReadStatus status = memory.ReadValue(header, &elf); status != ReadStatus::kOk) {
    return ReadError(status, header);
  }
  PP_RETURN_IF_ERROR(CheckElfHeader(elf, fmt::format("at {:#x}", header.value)));

  ElfImage image;
  image.program_headers_.resize(size_t{elf.e_phnum} * sizeof(Elf64_Phdr));
  const RemoteAddr table = header + elf.e_phoff;
  const ReadStatus status = memory.Read(table, image.program_headers_.data(), image.program_headers_.size());
  if (status != ReadStatus::kOk) {
    return ReadError(status, table);
  }
  const std::vector<Elf64_Phdr> headers = DecodeProgramHeaders(image.program_headers_);
  PP_ASSIGN_OR_RETURN(image.bias_, FindBias(elf, headers, header));
  for (const Elf64_Phdr& load : headers) {
    if (load.p_type == PT_LOAD) {
      image.segments_.push_back({load.p_vaddr, load.p_memsz, (load.p_flags & PF_W) != 0, (load.p_flags & PF_X) != 0});
    }
  }
  // The rest may be missing or unreadable: the image then has no build-id or no dynamic symbols.
  for (const Elf64_Phdr& segment : headers) {
    const RemoteAddr address = image.Address(segment.p_vaddr);
    if (segment.p_type == PT_DYNAMIC) {
      image.dynamic_ = {address, segment.p_memsz};
      image.dynamic_symbols_ = ReadDynamicSymbols(memory, image, *image.dynamic_);
    } else if (segment.p_type == PT_NOTE && image.build_id_.empty() && segment.p_filesz <= kMaxNoteBytes) {
      std::vector<uint8_t> notes(segment.p_filesz);
      if (memory.Read(address, notes.data(), notes.size()) == ReadStatus::kOk) {
        image.build_id_ = FindBuildId(notes, segment.p_align);
      }
    }
  }
  return image;
}

std::optional<ElfSymbol> ElfImage::FindSymbol(std::string_view name) const {
  for (const auto& table : {dynamic_symbols_, file_symbols_}) {
    if (const auto found = table != nullptr ? table->Find(name) : std::nullopt) {
      return found;
    }
  }
  return std::nullopt;
}

std::optional<ElfSegment> ElfImage::FindSection(std::string_view name) const {
  return sections_ != nullptr ? sections_->Find(name) : std::nullopt;
}

}  // namespace ptrace_prof
