// A fake process in which ELF files are mapped the way the kernel and the dynamic linker do it.
//
// Owned by one test. Reads outside of the mappings fault, as in a real process.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

inline std::vector<uint8_t> ReadWholeFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class FakeProcess final : public RemoteMemory {
 public:
  void Map(RemoteAddr at, std::vector<uint8_t> bytes) { regions_[at.value] = std::move(bytes); }

  // Maps every PT_LOAD of a well-formed file, moved by `bias`. If `relocate`, the pointers of PT_DYNAMIC are relocated
  // in place, as glibc does it.
  void MapElf(const std::vector<uint8_t>& file, uint64_t bias, bool relocate) {
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    std::vector<Elf64_Phdr> segments(header.e_phnum);
    std::memcpy(segments.data(), file.data() + header.e_phoff, segments.size() * sizeof(Elf64_Phdr));
    for (const Elf64_Phdr& s : segments) {
      if (s.p_type == PT_LOAD) {
        const uint64_t lead = s.p_vaddr & 4095;
        std::vector<uint8_t> bytes(lead + s.p_memsz);
        std::copy_n(file.begin() + static_cast<int64_t>(s.p_offset - lead), lead + s.p_filesz, bytes.begin());
        Map(RemoteAddr(bias + s.p_vaddr - lead), std::move(bytes));
      }
    }
    for (const Elf64_Phdr& s : segments) {
      for (uint64_t at = 0; relocate && s.p_type == PT_DYNAMIC && at < s.p_memsz; at += sizeof(Elf64_Dyn)) {
        RelocateEntry(RemoteAddr(bias + s.p_vaddr + at), bias);
      }
    }
  }

  ReadStatus Read(RemoteAddr from, void* to, size_t size) override {
    ++reads_;
    const uint8_t* bytes = Find(from, size);
    if (bytes != nullptr) {
      std::memcpy(to, bytes, size);
    }
    return bytes != nullptr ? ReadStatus::kOk : status_of_faults_;
  }
  ReadStatus ReadBatch(std::span<const ReadRequest> requests, size_t* filled) override {
    for (*filled = 0; *filled < requests.size(); ++*filled) {
      const ReadRequest& request = requests[*filled];
      if (const ReadStatus status = Read(request.from, request.to, request.size); status != ReadStatus::kOk) {
        return status;
      }
    }
    return ReadStatus::kOk;
  }

  void Fail(ReadStatus status) {
    regions_.clear();
    status_of_faults_ = status;
  }
  uint64_t reads() const { return reads_; }

 private:
  uint8_t* Find(RemoteAddr from, size_t size) {
    auto region = regions_.upper_bound(from.value);
    if (region == regions_.begin()) {
      return nullptr;
    }
    --region;
    const uint64_t offset = from.value - region->first;
    const bool inside = offset <= region->second.size() && size <= region->second.size() - offset;
    return inside ? region->second.data() + offset : nullptr;
  }
  void RelocateEntry(RemoteAddr at, uint64_t bias) {
    Elf64_Dyn entry;
    std::memcpy(&entry, Find(at, sizeof entry), sizeof entry);
    const int64_t pointers[] = {DT_SYMTAB, DT_STRTAB, DT_HASH, DT_GNU_HASH};
    if (std::find(std::begin(pointers), std::end(pointers), entry.d_tag) != std::end(pointers)) {
      entry.d_un.d_ptr += bias;
      std::memcpy(Find(at, sizeof entry), &entry, sizeof entry);
    }
  }

  std::map<uint64_t, std::vector<uint8_t>> regions_;
  ReadStatus status_of_faults_ = ReadStatus::kFault;
  uint64_t reads_ = 0;
};

}  // namespace ptrace_prof
