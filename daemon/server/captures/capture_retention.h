// Deletes ended captures with their traces: the old ones, those beyond the limits, and those whose deletion was
// requested. Loads those that an earlier daemon left.
//
// Owned by the CaptureRegistry. Has no lock: every call is made under the registry's mutex, on any thread, and so are
// its calls of the listener; the shelf's own lock is taken inside it. Ends no running capture and refuses no new one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "daemon/server/captures/capture_limits.h"
#include "daemon/server/captures/capture_shelf.h"
#include "daemon/server/captures/capture_table.h"
#include "daemon/server/captures/registry_listener.h"
#include "daemon/server/captures/spool_accounts.h"

namespace ptrace_prof {

class CaptureRetention {
 public:
  using Entries = CaptureTable::Entries;

  // All of them outlive this object. `shelf`: null if captures are not kept beyond our end.
  CaptureRetention(const CaptureLimits& limits, CaptureShelf* shelf, const RegistryListener& listener,
                   CaptureTable& table, SpoolAccounts& accounts)
      : limits_(limits), shelf_(shelf), listener_(listener), table_(table), accounts_(accounts) {}

  struct Restored {
    size_t captures = 0;
    size_t interrupted = 0;  // was running when the earlier daemon ended
  };
  Restored Restore(const std::function<void(const std::string& id)>& on_next);

  void Expire();
  // The capture has ended. After a storage error it is still there.
  Result<void> Delete(Entries::iterator entry);
  void EraseDiscarded();  // also those that have not ended

  // Captures deleted by Expire, and the bytes of their traces.
  struct ForgottenTotals {
    uint64_t captures = 0;
    uint64_t bytes = 0;
  };
  const ForgottenTotals& forgotten() const { return forgotten_; }

 private:
  std::vector<Entries::iterator> ExpireByAge();  // returns those that have ended and stay, oldest first
  void ExpireByAmount(const std::vector<Entries::iterator>& ended);
  void Forget(Entries::iterator entry, std::string_view why);
  Entries::iterator Erase(Entries::iterator entry);

  const CaptureLimits& limits_;
  CaptureShelf* const shelf_;
  const RegistryListener& listener_;
  CaptureTable& table_;
  SpoolAccounts& accounts_;
  ForgottenTotals forgotten_;
};

}  // namespace ptrace_prof
