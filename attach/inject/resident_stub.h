// A stub that an earlier capture left in a target, found by the name of its memfd among the mappings.
//
// It is used only if it has our version. Its block is the target's memory, so the fields that matter are checked: the
// function to be called must lie in the code of the same file. Reads the target without stopping it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attach/abi/boot_head.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/remote_writer.h"
#include "attach/inject/stub_kind.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct ResidentStub {
  const StubKind* kind = nullptr;
  RemoteAddr boot;   // address of its boot block
  RemoteAddr enter;  // int(void*)
  bool busy = false;
  pp_boot_head head{};
  uint64_t inode = 0;  // of its file

  // All stubs of this kind and our version. Errors: kGone and so on.
  static Result<std::vector<ResidentStub>> FindAll(const StubKind& kind, Pid pid, RemoteMemory& memory);
  // A tracer stub of our version, or nullopt. Prefers one that is busy, because it holds what the next one needs.
  // Errors: kGone and so on.
  static Result<std::optional<ResidentStub>> Find(Pid pid, RemoteMemory& memory);
  // The reason why a tracer stub did not serve the capture of this nonce; nullopt: it did, or has not done so yet.
  // kGone.
  static Result<std::optional<Error>> FailureOf(Pid pid, RemoteMemory& memory, uint64_t nonce);
  // The function by which a tracer stub leaves, from the channel in `file`; null if the address is not in the stub's
  // code.
  Result<RemoteAddr> LeaveEntry(Pid pid, const UniqueFd& file) const;
  // Sets the parameters of the next capture. `told`: a whole boot block. Precondition: not busy.
  Result<void> Report(RemoteMemory& memory, RemoteWriter& writer, std::span<const uint8_t> reported) const;
};

}  // namespace ptrace_prof
