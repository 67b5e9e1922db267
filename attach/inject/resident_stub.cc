#include "attach/inject/resident_stub.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "attach/inject/channel.h"
#include "attach/inject/stub_file.h"
#include "attach/proc/maps.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxDataBytes = 1 << 20;

bool IsStub(const StubKind& kind, const MemoryRegion& region) {
  return region.deleted && region.path.starts_with("/memfd:" + std::string(kind.file_prefix));
}

bool SameFile(const MemoryRegion& a, const MemoryRegion& b) {
  return a.inode == b.inode && a.device_major == b.device_major && a.device_minor == b.device_minor;
}

// Finds the boot block in a region.
std::optional<ResidentStub> LookInto(const StubKind& kind, RemoteMemory& memory,
                                     const std::vector<MemoryRegion>& regions, const MemoryRegion& data) {
  std::vector<uint8_t> bytes(std::min<uint64_t>(data.size(), kMaxDataBytes));
  if (memory.Read(data.start, bytes.data(), bytes.size()) != ReadStatus::kOk) {
    return std::nullopt;
  }
  for (size_t at = 0; at + kind.boot_size <= bytes.size(); at += alignof(pp_boot_head)) {
    pp_boot_head head;
    std::memcpy(&head, bytes.data() + at, sizeof head);
    if (std::memcmp(head.magic, kind.magic, sizeof head.magic) != 0) {
      continue;
    }
    const RemoteAddr enter(head.enter_entry);
    const bool code = std::ranges::any_of(regions, [&](const MemoryRegion& region) {
      return SameFile(region, data) && region.executable && region.start <= enter && enter < region.end;
    });
    if (code && head.abi_version == kind.abi_version) {
      return ResidentStub{&kind, data.start + at, enter, head.busy != 0, head, data.inode};
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<ResidentStub>> ResidentStub::FindAll(const StubKind& kind, Pid pid, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  std::vector<ResidentStub> found;
  for (const MemoryRegion& region : regions) {
    const auto stub = IsStub(kind, region) && region.writable ? LookInto(kind, memory, regions, region) : std::nullopt;
    if (stub) {
      found.push_back(*stub);
    }
  }
  return found;
}

Result<std::optional<ResidentStub>> ResidentStub::Find(Pid pid, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> stubs, FindAll(kTracerStub, pid, memory));
  const auto busy = std::ranges::find(stubs, true, &ResidentStub::busy);
  if (busy != stubs.end()) {
    return std::optional(*busy);
  }
  return stubs.empty() ? std::optional<ResidentStub>() : stubs.front();
}

Result<std::optional<Error>> ResidentStub::FailureOf(Pid pid, RemoteMemory& memory, uint64_t nonce) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> stubs, FindAll(kTracerStub, pid, memory));
  for (const ResidentStub& stub : stubs) {
    if (stub.head.served != nonce || stub.busy) {
      continue;
    }
    if (stub.head.error != PP_ERROR_NONE) {
      return std::optional(StubFailure(stub.head.error, stub.head.error_step, stub.head.error_number));
    }
    return std::optional(Error{Code::kUnavailable,
                               "the stub started and ended before it was seen: its lease had expired", "Try again."});
  }
  return std::optional<Error>();
}

Result<RemoteAddr> ResidentStub::LeaveEntry(Pid pid, const UniqueFd& file) const {
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  pp_channel channel;
  if (::pread(file.get(), &channel, sizeof channel, 0) != static_cast<ssize_t>(sizeof channel) ||
      channel.magic != PP_CHANNEL_MAGIC || channel.abi_version != PP_ABI_VERSION) {
    return RemoteAddr();
  }
  const RemoteAddr leave(channel.leave_entry);
  const bool ours = std::ranges::any_of(regions, [&](const MemoryRegion& region) {
    return IsStub(kTracerStub, region) && region.inode == inode && region.executable && region.start <= leave &&
           leave < region.end;
  });
  return ours ? leave : RemoteAddr();
}

Result<void> ResidentStub::Report(RemoteMemory& memory, RemoteWriter& writer, std::span<const uint8_t> reported) const {
  std::vector<uint8_t> now(kind->boot_size);
  if (memory.Read(boot, now.data(), now.size()) != ReadStatus::kOk ||
      std::memcmp(now.data(), kind->magic, sizeof kind->magic) != 0) {
    return Error{Code::kGone, "the stub in the target is gone", ""};
  }
  ReportBootBlock(*kind, reported, now);
  return writer.Write(boot, now);
}

}  // namespace ptrace_prof
