// A stub that an earlier capture left in a target: found again by the name of its memfd among the mappings.
//
// It is spoken to only if it is of our version. What it says of itself is the target's memory, so it is checked as far
// as it matters: the function to be called lies in the code of that same file. Reads the target without stopping it.
#pragma once

#include <optional>

#include "attach/abi/boot.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/remote_writer.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct ResidentStub {
  RemoteAddr boot;   // its pp_boot
  RemoteAddr enter;  // int(void*)
  bool busy = false;
  pp_boot block{};
  uint64_t inode = 0;  // of its file

  // Nothing: there is none, or none of our version. One that is busy before any other: it holds what the next one
  // needs. kGone and so on.
  static Result<std::optional<ResidentStub>> Find(Pid pid, RemoteMemory& memory);
  // Why it did not serve the capture of this nonce; nothing: it did, or has not come to it. kGone.
  static Result<std::optional<Error>> FailureOf(Pid pid, RemoteMemory& memory, uint64_t nonce);
  // The function by which it leaves, as the channel in `file` says; null where that is none of its functions.
  Result<RemoteAddr> LeaveEntry(Pid pid, const UniqueFd& file) const;
  // What the next capture is to be like. Precondition: not busy.
  Result<void> Tell(RemoteMemory& memory, RemoteWriter& writer, const pp_boot& told) const;
};

}  // namespace ptrace_prof
