// The way of any kind of stub into a target: what is checked beforehand, then a resident one is told anew, or the bytes
// are brought in (delivery.h).
//
// What a kind has of its own is its row in stub_kind.cc and a StubEntry. Stateless; the thread that may trace.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/injection_target.h"
#include "attach/inject/resident_stub.h"
#include "attach/inject/run_call.h"
#include "attach/inject/stub_kind.h"
#include "attach/inject/target_files.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct InjectionReport {
  std::string_view way;   // name of the strategy by which it came in
  bool resident = false;  // a stub that was there already took it up
  Nanos took;             // from the request until its memory was ready
  StopCost stops;
};

struct StubEntry {
  StubPackage package;
  std::span<const uint8_t> told;  // its boot block
  // Waits until one that is there has ended its work; nothing: there is none. What that costs is added to the report.
  std::function<Result<std::optional<ResidentStub>>(RunReport*)> find_resident;
  EffectSeen seen;  // the memory that it makes is taken
};

// The first error of the strategies when none applies; otherwise the reason why no stub of this kind may come in, with
// so much memory for both sides and for itself. kAlreadyExists: another collector is at it.
Result<TargetFiles> CheckEntry(const InjectionTarget& target, const StubKind& kind, uint64_t shared_bytes,
                               uint64_t private_bytes);

// Returns once it is `seen`; how long it took is the caller's to say. `files`: as CheckEntry gave them.
Result<InjectionReport> Enter(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files,
                              const StubEntry& entry, const Patience& patience);

}  // namespace ptrace_prof
