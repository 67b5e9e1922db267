// Decides whether a new capture may start, and with which parameters: its ID is free, and it is within the limits of
// the server, the quota of its user and the budget of the machine.
//
// Owned by the CaptureRegistry. Has no lock: every call is made under the registry's mutex, on any thread. So no two
// captures get the same room, provided that the caller puts an admitted one into the table before it releases the
// mutex. Asks the caller's allowance for the budget and reports refusals to the caller's audit, both under that mutex.
// Starts and deletes nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "attach/base/result.h"
#include "daemon/server/captures/caller_access.h"
#include "daemon/server/captures/capture_creation.h"
#include "daemon/server/captures/capture_limits.h"
#include "daemon/server/captures/capture_table.h"
#include "daemon/server/captures/cpu_budget.h"
#include "daemon/server/captures/spool_accounts.h"

namespace ptrace_prof {

class CaptureAdmission {
 public:
  // All three outlive this object.
  CaptureAdmission(const CaptureLimits& limits, const CaptureTable& table, SpoolAccounts& accounts)
      : limits_(limits), table_(table), accounts_(accounts) {}

  // The capture that the first request with this request_id and owner created. Null: none. kInvalidArgument: the first
  // request was a different one.
  Result<std::shared_ptr<CaptureSession>> FindRepeated(const CaptureCreation& creation) const;
  // `quota`: of the caller, who was asked for it without the mutex.
  Result<CpuGrant> Check(const CaptureCreation& creation, const UserQuota& quota, const CallerAccess& access) const;
  // The parameters lack the place where the trace is stored and the listener.
  Result<CaptureParameters> Admit(const CaptureCreation& creation, const UserQuota& quota, const CallerAccess& access);
  Result<CaptureParameters> AdmitHidden(const CaptureTask& request, CaptureUser owner,
                                        const CallerAccess& access) const;

  // The server ends: everything is refused from now on, with DAEMON_ENDING.
  void Close() { is_closed_ = true; }
  bool is_closed() const { return is_closed_; }

 private:
  // If a quota refuses it, `whose` is set to that quota's name.
  Result<CpuGrant> CheckNew(const CaptureCreation& creation, const CallerAccess& access, const UserQuota& quota,
                            std::string& whose) const;
  Result<void> CheckOpen() const;
  Result<void> CheckId(const CaptureCreation& creation) const;
  Result<void> CheckLimits(const CaptureCreation& creation, const UserQuota& quota, std::string& whose) const;
  Result<void> CheckHidden(const CaptureTask& request, uint32_t uid) const;
  Result<CpuGrant> CheckNewHidden(const CaptureTask& request, uint32_t uid, const CallerAccess& access) const;
  Result<CpuGrant> FindCpu(const CaptureTask& request, std::optional<double> budget) const;
  std::string FindRival(const CaptureCreation& creation,
                        bool (*holds)(const CaptureTask&, const CaptureSnapshot&)) const;

  const CaptureLimits& limits_;
  const CaptureTable& table_;
  SpoolAccounts& accounts_;
  bool is_closed_ = false;
};

}  // namespace ptrace_prof
