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

bool IsStub(const MemoryRegion& region) {
  return region.deleted && region.path.starts_with("/memfd:" + std::string(kStubFilePrefix));
}

bool SameFile(const MemoryRegion& a, const MemoryRegion& b) {
  return a.inode == b.inode && a.device_major == b.device_major && a.device_minor == b.device_minor;
}

// The boot block in a region, if there is one.
std::optional<ResidentStub> LookInto(RemoteMemory& memory, const std::vector<MemoryRegion>& regions,
                                     const MemoryRegion& data) {
  std::vector<uint8_t> bytes(std::min<uint64_t>(data.size(), kMaxDataBytes));
  if (memory.Read(data.start, bytes.data(), bytes.size()) != ReadStatus::kOk) {
    return std::nullopt;
  }
  for (size_t at = 0; at + sizeof(pp_boot) <= bytes.size(); at += alignof(pp_boot)) {
    pp_boot boot;
    std::memcpy(&boot, bytes.data() + at, sizeof boot);
    if (boot.magic[0] != PP_BOOT_MAGIC_0 || boot.magic[1] != PP_BOOT_MAGIC_1) {
      continue;
    }
    const RemoteAddr enter(boot.enter_entry);
    const bool code = std::ranges::any_of(regions, [&](const MemoryRegion& region) {
      return SameFile(region, data) && region.executable && region.start <= enter && enter < region.end;
    });
    if (code && boot.abi_version == PP_ABI_VERSION) {
      return ResidentStub{data.start + at, enter, boot.busy != 0, boot, data.inode};
    }
  }
  return std::nullopt;
}

Result<std::vector<ResidentStub>> FindAll(Pid pid, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  std::vector<ResidentStub> found;
  for (const MemoryRegion& region : regions) {
    const auto stub = IsStub(region) && region.writable ? LookInto(memory, regions, region) : std::nullopt;
    if (stub) {
      found.push_back(*stub);
    }
  }
  return found;
}

}  // namespace

Result<std::optional<ResidentStub>> ResidentStub::Find(Pid pid, RemoteMemory& memory) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> stubs, FindAll(pid, memory));
  const auto busy = std::ranges::find(stubs, true, &ResidentStub::busy);
  if (busy != stubs.end()) {
    return std::optional(*busy);
  }
  return stubs.empty() ? std::optional<ResidentStub>() : stubs.front();
}

Result<std::optional<Error>> ResidentStub::FailureOf(Pid pid, RemoteMemory& memory, uint64_t nonce) {
  PP_ASSIGN_OR_RETURN(const std::vector<ResidentStub> stubs, FindAll(pid, memory));
  for (const ResidentStub& stub : stubs) {
    if (stub.block.served != nonce || stub.busy) {
      continue;
    }
    if (stub.block.error != PP_ERROR_NONE) {
      return std::optional(StubFailure(stub.block.error, stub.block.error_step, stub.block.error_number));
    }
    return std::optional(Error{
        Code::kUnavailable, "the stub came up and left again before it was seen: its lease had ended", "Try again."});
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
    return IsStub(region) && region.inode == inode && region.executable && region.start <= leave && leave < region.end;
  });
  return ours ? leave : RemoteAddr();
}

Result<void> ResidentStub::Tell(RemoteMemory& memory, RemoteWriter& writer, const pp_boot& told) const {
  pp_boot now;
  if (memory.ReadValue(boot, &now) != ReadStatus::kOk || now.magic[0] != PP_BOOT_MAGIC_0 ||
      now.magic[1] != PP_BOOT_MAGIC_1) {
    return Error{Code::kGone, "the stub in the target has gone", ""};
  }
  TellStub(told, &now);
  return writer.WriteValue(boot, now);
}

}  // namespace ptrace_prof
