#include "daemon/collector/inspect/libc_environ.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "attach/base/base_name.h"
#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kPage = 4096;
constexpr size_t kMaxVariables = 4096;
constexpr size_t kMaxLength = 256;

uint64_t LeftInPage(RemoteAddr at) { return kPage - at.value % kPage; }

bool IsLibc(std::string_view path) {
  const std::string_view name = BaseName(path);
  return name.starts_with("libc.so") || name.starts_with("libc-2.") || name.starts_with("libc.musl") ||
         name.starts_with("ld-musl");
}

// Reads the pointers up to the final null, page by page, as the page after it need not be mapped.
std::optional<std::vector<RemoteAddr>> ReadPointers(RemoteMemory& memory, RemoteAddr list) {
  std::vector<RemoteAddr> pointers;
  std::array<uint64_t, kPage / sizeof(uint64_t)> page{};
  if (list.value % sizeof(uint64_t) != 0) {
    return std::nullopt;
  }
  while (pointers.size() < kMaxVariables) {
    const size_t bytes = LeftInPage(list);
    if (memory.Read(list, page.data(), bytes) != ReadStatus::kOk) {
      return std::nullopt;
    }
    for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) {
      if (page[i] == 0) {
        return pointers;
      }
      pointers.emplace_back(page[i]);
    }
    list = list + bytes;
  }
  return pointers;
}

struct Text {
  std::array<char, kMaxLength> bytes{};
  uint32_t size = 0;  // bytes that were read
};

// Takes one batch, plus one for each string that cannot be read.
void ReadAll(RemoteMemory& memory, std::span<const ReadRequest> requests, std::vector<Text>& texts) {
  size_t done = 0;
  while (done < requests.size()) {
    size_t filled = 0;
    const ReadStatus status = memory.ReadBatch(requests.subspan(done), &filled);
    for (size_t i = done; i < done + filled; ++i) {
      texts[i].size = requests[i].size;
    }
    done += filled + (status == ReadStatus::kFault ? 1 : 0);
    if (status != ReadStatus::kFault) {
      return;
    }
  }
}

std::vector<std::string> ReadStrings(RemoteMemory& memory, std::span<const RemoteAddr> pointers) {
  std::vector<Text> texts(pointers.size());
  std::vector<ReadRequest> requests;
  requests.reserve(pointers.size());
  for (size_t i = 0; i < pointers.size(); ++i) {
    const auto size = static_cast<uint32_t>(std::min<uint64_t>(kMaxLength, LeftInPage(pointers[i])));
    requests.push_back({pointers[i], texts[i].bytes.data(), size});
  }
  ReadAll(memory, requests, texts);
  std::vector<std::string> strings;
  for (size_t i = 0; i < texts.size(); ++i) {
    Text& text = texts[i];
    const auto ends = [&] { return std::memchr(text.bytes.data(), '\0', text.size) != nullptr; };
    if (text.size != 0 && text.size < kMaxLength && !ends()) {  // it continues in the next page
      const size_t more = kMaxLength - text.size;
      if (memory.Read(pointers[i] + text.size, text.bytes.data() + text.size, more) == ReadStatus::kOk) {
        text.size = kMaxLength;
      }
    }
    if (ends()) {
      strings.emplace_back(text.bytes.data());
    }
  }
  return strings;
}

}  // namespace

std::optional<uint64_t> LibcEnviron::OffsetIn(RemoteMemory& memory, const MemoryRegion& header) {
  const MappedFileId id = MappedFileId::Of(header);
  if (const auto known = offsets_.find(id); known != offsets_.end()) {
    return known->second;
  }
  std::optional<uint64_t> offset;
  if (const Result<ElfImage> elf = ElfImage::FromMemory(memory, header.start); elf.has_value()) {
    for (const char* name : {"environ", "__environ", "_environ"}) {
      if (const auto symbol = offset ? std::nullopt : elf.value().FindSymbol(name)) {
        offset = elf.value().Address(symbol->value) - header.start;
      }
    }
  }
  return offsets_[id] = offset;
}

std::optional<std::vector<std::string>> LibcEnviron::Read(RemoteMemory& memory, std::span<const MemoryRegion> regions,
                                                          const MappedFileId& executable) {
  for (const bool in_executable : {true, false}) {
    for (const MemoryRegion& region : regions) {
      const bool asked = in_executable ? MappedFileId::Of(region) == executable : IsLibc(region.path);
      if (!asked || !BeginsFile(region)) {
        continue;
      }
      const std::optional<uint64_t> offset = OffsetIn(memory, region);
      uint64_t list = 0;
      if (!offset || memory.ReadValue(region.start + *offset, &list) != ReadStatus::kOk || list == 0) {
        continue;
      }
      if (const auto pointers = ReadPointers(memory, RemoteAddr(list))) {
        return ReadStrings(memory, *pointers);
      }
    }
  }
  return std::nullopt;
}

}  // namespace ptrace_prof
