// A stub that an earlier capture left in a target: found again by the name of its memfd among the mappings.
//
// It is spoken to only if it is of our version. What it says of itself is the target's memory, so it is checked as far
// as it matters: the function to be called lies in the code of that same file. Reads the target without stopping it.
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
  RemoteAddr boot;   // its boot block
  RemoteAddr enter;  // int(void*)
  bool busy = false;
  pp_boot_head head{};
  uint64_t inode = 0;  // of its file

  // All of this kind and our version. kGone and so on.
  static Result<std::vector<ResidentStub>> FindAll(const StubKind& kind, Pid pid, RemoteMemory& memory);
  // A tracer stub. Nothing: there is none, or none of our version. One that is busy before any other: it holds what the
  // next one needs. kGone and so on.
  static Result<std::optional<ResidentStub>> Find(Pid pid, RemoteMemory& memory);
  // Of a tracer stub: why it did not serve the capture of this nonce; nothing: it did, or has not come to it. kGone.
  static Result<std::optional<Error>> FailureOf(Pid pid, RemoteMemory& memory, uint64_t nonce);
  // The function by which a tracer stub leaves, as the channel in `file` says; null where that is none of its
  // functions.
  Result<RemoteAddr> LeaveEntry(Pid pid, const UniqueFd& file) const;
  // What the next capture is to be like. Precondition: not busy.
  // `told`: a whole boot block.
  Result<void> Tell(RemoteMemory& memory, RemoteWriter& writer, std::span<const uint8_t> told) const;
};

}  // namespace ptrace_prof
