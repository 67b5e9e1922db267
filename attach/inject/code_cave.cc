#include "attach/inject/code_cave.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "attach/inject/queued_call.h"
#include "attach/proc/maps.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 16;
constexpr size_t kReported = 16;  // bytes behind them that identify a text

bool IsWritable(const std::vector<MemoryRegion>& regions, RemoteAddr from, size_t size) {
  return std::ranges::any_of(regions, [&](const MemoryRegion& region) {
    return region.readable && region.writable && region.start <= from && from + size <= region.end;
  });
}

}  // namespace

RemoteAddr FindZeros(RemoteMemory& memory, const MemoryTail& tail, size_t size) {
  std::vector<uint8_t> bytes(std::min<uint64_t>(tail.size, kPage));
  if (bytes.size() < size || memory.Read(tail.begin, bytes.data(), bytes.size()) != ReadStatus::kOk) {
    return {};
  }
  size_t zeros = 0;
  for (size_t at = bytes.size(); at-- > 0;) {
    zeros = bytes[at] == 0 ? zeros + 1 : 0;
    if (zeros >= size && (tail.begin.value + at) % kAlignment == 0) {
      return tail.begin + at;
    }
  }
  return {};
}

Result<CodeCave> CodeCave::Borrow(Pid pid, RemoteMemory& memory, std::span<const MemoryTail> candidates, size_t size) {
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  for (const MemoryTail& candidate : candidates) {
    const RemoteAddr from = FindZeros(memory, candidate, size);
    if (!from.IsNull() && IsWritable(regions, from, size)) {
      return CodeCave(pid, memory, from, size);
    }
  }
  return Because(Reason::kNoRoomForText,
                 fmt::format("process {} has no {} bytes of unused memory for the injected code", pid.value, size),
                 "Sample it instead (record without --mode trace).", ThingOf(pid));
}

CodeCave::CodeCave(CodeCave&& other) noexcept
    : memory_(other.memory_),
      writer_(other.writer_),
      address_(std::exchange(other.address_, RemoteAddr())),
      size_(other.size_),
      text_(std::move(other.text_)) {}

CodeCave::~CodeCave() {
  if (!address_.IsNull()) {
    static_cast<void>(Clear().has_value());
  }
}

Result<void> CodeCave::Put(std::string_view text) {
  if (text.size() >= size_) {
    return Error{Code::kInternal, "the injected code is longer than the memory that was reserved for it", ""};
  }
  PP_RETURN_IF_ERROR(Clear());
  text_ = text;
  return writer_.Write(address_, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
}

bool CodeCave::HoldsText() const {
  std::array<char, kReported> now{};
  const size_t size = std::min(now.size(), text_.size() - std::min(text_.size(), kWipedBytes));
  return memory_->Read(address_ + kWipedBytes, now.data(), size) == ReadStatus::kOk &&
         std::string_view(now.data(), size) ==
             std::string_view(text_).substr(std::min(text_.size(), kWipedBytes), size);
}

Result<void> CodeCave::Clear() {
  if (text_.empty() || !HoldsText()) {
    return {};
  }
  const std::vector<uint8_t> zeros(std::exchange(text_, {}).size());
  return writer_.Write(address_, zeros);
}

}  // namespace ptrace_prof
