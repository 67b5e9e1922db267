// The injection path common to all kinds of stub: checks first; then it reconfigures a resident stub, or brings in the
// bytes (delivery.h).
//
// A kind is defined by its row in stub_kind.cc and a StubEntry. Stateless; the thread that may trace.
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
  std::string_view way;   // name of the strategy that worked
  bool resident = false;  // a resident stub was used
  Nanos took;             // from the request until the memory was ready
  StopCost stops;
};

struct StubEntry {
  StubPackage package;
  std::span<const uint8_t> reported;  // the boot block
  // Waits until a resident stub has ended its work; nullopt: there is none. Adds its cost to the report.
  std::function<Result<std::optional<ResidentStub>>(RunReport*)> find_resident;
  EffectSeen seen;  // whether the stub's memory has been taken
};

// Checks whether a stub of this kind may be injected, with that much shared and private memory. If no strategy applies,
// returns the first one's error. kAlreadyExists: another collector is working on the target.
Result<TargetFiles> CheckEntry(const InjectionTarget& target, const StubKind& kind, uint64_t shared_bytes,
                               uint64_t private_bytes);

// Returns once `seen` is true; the caller sets `took`. `files`: as returned by CheckEntry.
Result<InjectionReport> Enter(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files,
                              const StubEntry& entry, const Patience& patience);

}  // namespace ptrace_prof
