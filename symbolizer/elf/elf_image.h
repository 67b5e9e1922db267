// One ELF file as mapped in a process: its address, dynamic symbols, sections and build-id.
//
// Read from the target's memory first (program headers, PT_DYNAMIC, hash tables, notes; no file and no right beyond
// reading memory), so it works for deleted, renamed and chrooted binaries as an ordinary user. A file only adds what is
// not mapped: section headers and .symtab. All data are hostile: every offset, count and string is bounded. Immutable
// after creation and cheap to copy, except for AddFile. 64-bit little-endian images only. Copies the dynamic symbols of
// the image (a few 100 KiB for libpython, at most 16 MiB; an image with more has none here).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

class SectionTable;
class SymbolTable;

struct ElfSegment {
  uint64_t vaddr = 0;  // as linked
  uint64_t size = 0;   // in memory
  bool writable = false;
  bool executable = false;
};

// PT_DYNAMIC: what the dynamic linker needs.
struct DynamicSection {
  RemoteAddr address;
  uint64_t size = 0;
};

struct ElfSymbol {
  uint64_t value = 0;  // as linked; add bias()
  uint64_t size = 0;
};

// What to read from a file. The symbols of a large program take many megabytes.
enum class FileParts : uint8_t { kAll, kSections };

class ElfImage {
 public:
  // `header` is the address of the ELF header (the mapping with file offset 0). kInvalidArgument: no (supported) ELF
  // header there. kGone / kPermissionDenied as usual.
  static Result<ElfImage> FromMemory(RemoteMemory& memory, RemoteAddr header);

  // Adds section headers and .symtab from the file, if its build-id (or, without one, its program headers) matches this
  // image. A file that does not match changes nothing and gives kFailedPrecondition.
  Result<void> AddFile(int fd, FileParts parts = FileParts::kAll);

  RemoteAddr Address(uint64_t vaddr) const { return bias_ + vaddr; }
  RemoteAddr bias() const { return bias_; }
  const std::vector<ElfSegment>& segments() const { return segments_; }
  const std::vector<uint8_t>& build_id() const { return build_id_; }  // empty when there is none

  const std::optional<DynamicSection>& dynamic() const { return dynamic_; }  // nullopt: linked statically

  // .dynsym (through DT_GNU_HASH or DT_HASH), then .symtab if a file was added.
  std::optional<ElfSymbol> FindSymbol(std::string_view name) const;
  // Needs an added file. Address as linked, and size.
  std::optional<ElfSegment> FindSection(std::string_view name) const;

 private:
  RemoteAddr bias_;
  std::vector<ElfSegment> segments_;
  std::vector<uint8_t> build_id_;
  std::optional<DynamicSection> dynamic_;
  std::vector<uint8_t> program_headers_;  // raw: the identity of an image without build-id
  std::shared_ptr<const SymbolTable> dynamic_symbols_;
  std::shared_ptr<const SymbolTable> file_symbols_;
  std::shared_ptr<const SectionTable> sections_;
};

}  // namespace ptrace_prof
