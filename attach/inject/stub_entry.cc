#include "attach/inject/stub_entry.h"

#include <cstring>

#include "attach/inject/delivery.h"
#include "attach/inject/file_lock.h"
#include "attach/inject/job_limits.h"
#include "attach/inject/left_scripts.h"
#include "attach/inject/remote_writer.h"
#include "attach/inject/strategy.h"

namespace ptrace_prof {
namespace {

Result<void> EnterResident(const InjectionTarget& target, RemoteMemory& memory, const ResidentStub& stub,
                           const StubEntry& entry, const Patience& patience, RunReport* report) {
  RemoteWriter writer(target.pid);
  PP_RETURN_IF_ERROR(stub.Report(memory, writer, entry.reported));
  CallGuard guard{stub.boot + offsetof(pp_boot_head, nonce), {}, stub.boot + offsetof(pp_boot_head, target_pid)};
  std::memcpy(guard.bytes.data(), &entry.package.nonce, sizeof entry.package.nonce);
  return RunCall(target, memory, {stub.enter, RemoteAddr()}, guard, patience, entry.seen, report);
}

}  // namespace

Result<TargetFiles> CheckEntry(const InjectionTarget& target, const StubKind& kind, uint64_t shared_bytes,
                               uint64_t private_bytes) {
  PP_ASSIGN_OR_RETURN([[maybe_unused]] const auto strategies, ChooseStrategies(target));
  PP_RETURN_IF_ERROR(Delivery::CheckTarget(target.pid));
  PP_RETURN_IF_ERROR(CheckJobLimits(target.pid, {shared_bytes, private_bytes}, target.force));
  PP_ASSIGN_OR_RETURN(TargetFiles files, TargetFiles::Of(target.pid));
  PP_RETURN_IF_ERROR(files.CheckTaking());
  PP_RETURN_IF_ERROR(CheckSoleUser(target.pid, files, kind));
  return files;
}

Result<InjectionReport> Enter(const InjectionTarget& target, RemoteMemory& memory, const TargetFiles& files,
                              const StubEntry& entry, const Patience& patience) {
  InjectionReport report;
  StopCost left;
  RunReport entered;
  PP_RETURN_IF_ERROR(RemoveLeftScripts(target, memory, left));
  PP_ASSIGN_OR_RETURN(const std::optional<ResidentStub> stub, entry.find_resident(&entered));
  Delivery delivery(target, memory, files, entry.package, patience);
  if (stub && CanCall(target)) {
    PP_RETURN_IF_ERROR(delivery.CloseStrays());
    left.Add(delivery.report().stops);
    PP_RETURN_IF_ERROR(EnterResident(target, memory, *stub, entry, patience, &entered));
    report = {entered.way, true, {}, entered.stops};
  } else {
    PP_RETURN_IF_ERROR(delivery.Run(entry.seen));
    report = {delivery.report().way, false, {}, delivery.report().stops};
  }
  report.stops.Add(left);
  return report;
}

}  // namespace ptrace_prof
