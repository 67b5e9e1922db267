// All captures of one server: creates them within limits, finds them by ID, and forgets them.
//
// A capture belongs to the user who created it; only that user and the administrator see it. With a shelf, captures
// outlive the daemon, and those of an earlier daemon are included. Thread-safe. The destructor ends all captures.
#pragma once

#include <array>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "daemon/server/captures/caller_access.h"
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/cpu_budget.h"
#include "daemon/server/captures/trace_age.h"

namespace ptrace_prof {

struct CaptureLimits {
  size_t captures_per_user = 64;               // running at once
  size_t brief_per_user = 16;                  // dumps, listings and diagnoses at once, until their answers are sent
  size_t live_per_user = 32;                   // live views at once
  size_t kept_per_user = 256;                  // ended, with their traces; the oldest is forgotten first
  uint64_t brief_bytes = uint64_t{16} << 20;   // of one dump, listing or diagnosis, which is one message
  uint64_t live_bytes = uint64_t{64} << 20;    // of one live view, not yet counted
  uint64_t bytes = uint64_t{8} << 30;          // of one trace
  Nanos duration;                              // of one capture; 0: no limit
  Nanos retention = Nanos::FromSeconds(3600);  // of a trace after its capture ended, unless `keep`
  Nanos kept_for;                              // the same with `keep` too; 0: no limit
  // Of all ended traces; the oldest of the user who stores most is forgotten first; 0: no limit.
  uint64_t kept_bytes = 0;
  Nanos stop_patience = Nanos::FromSeconds(10);  // for a collector that was asked to stop, before it is killed
  // A capture without `keep` ends when no client has asked for it for so long; 0: never.
  Nanos unattended = Nanos::FromSeconds(60);
};

// A capture whose trace was deleted without a request.
struct ForgottenCapture {
  std::string id;
  uint32_t owner_uid = 0;
  uint64_t bytes = 0;
  std::string_view why;  // "age", "bytes" or "count"
};

// Receives events that no call returns. Called under the registry's lock, so it must not call the registry. `on_end` is
// called on the capture's thread, also for captures that are in no list.
struct RegistryListener {
  std::function<void(const ForgottenCapture&)> on_forgotten = [](const ForgottenCapture&) {};
  std::function<void(const Error&)> on_trouble = [](const Error&) {};
  CaptureEnded on_end = nullptr;
};

// The registry's contents, as far as the asking caller may see them.
struct CaptureUsage {
  std::array<uint64_t, kCaptureStates> by_state{};
  uint64_t trace_bytes = 0;
  size_t users = 0;  // with at least one capture
  size_t brief = 0;  // running dumps, listings and live views
  // Of all users' running captures, with dumps and live views:
  double cpu_cores = 0;              // their shares of the budget (cpu_budget.h)
  Nanos cpu_time;                    // used by their collectors, as last reported
  std::optional<double> cpu_budget;  // set by the caller that knows the policy
};

class CaptureRegistry {
 public:
  // `shelf`: null if captures are not kept beyond our end.
  CaptureRegistry(std::string spool_folder, CaptureLimits limits, std::unique_ptr<CaptureShelf> shelf = nullptr,
                  RegistryListener listener = {});
  ~CaptureRegistry();

  // Call once, before everything else: loads what an earlier daemon left on the shelf. `on_next` is called before each
  // capture.
  struct Restored {
    size_t captures = 0;
    size_t interrupted = 0;  // was running when the earlier daemon ended
  };
  Restored Restore(const std::function<void(const std::string& id)>& on_next);

  struct Creation {
    std::string id;          // empty: the registry chooses one
    std::string request_id;  // empty: none
    CaptureUser owner = {};
    CaptureTask request;
  };
  // kAlreadyExists: the ID is taken. kResourceExhausted: too many captures or bytes, too long, or no CPU time left, by
  // our limits or by the caller's quota and budget. Other errors as CollectorStarter::Start.
  // A second creation with the same request_id and owner returns the first capture, also an earlier daemon's.
  // kInvalidArgument: the two differ in request, size or keep.
  Result<std::shared_ptr<CaptureSession>> Create(const Creation& creation, const CallerAccess& access);
  // The error that Create would return now, apart from errors of the collector.
  Result<void> Check(const Creation& creation, const CallerAccess& access);

  // Starts a capture that is in no list: a dump, a listing, a live view. It lives as long as the returned pointer. Its
  // limits are those of brief captures, or of live views.
  Result<std::shared_ptr<CaptureSession>> StartHidden(const CaptureTask& request, CaptureUser owner,
                                                      const CallerAccess& access);

  // For the audit of requests for another user's capture. Null: there is no such capture, or the caller may see it.
  std::shared_ptr<CaptureSession> FindAnothers(const std::string& id, CaptureUser caller);
  // kNotFound: also if it belongs to another user.
  Result<std::shared_ptr<CaptureSession>> Find(const std::string& id, CaptureUser caller);
  // Newest first.
  std::vector<std::shared_ptr<CaptureSession>> List(CaptureUser caller);
  CaptureUsage Usage(CaptureUser caller);
  const CaptureLimits& limits() const { return limits_; }
  const std::string& spool_folder() const { return spool_folder_; }
  // kFailedPrecondition: it is still running.
  Result<void> Delete(const std::string& id, CaptureUser caller);
  // Cancels it if it is running, and forgets it once it has ended. It is invisible from now on.
  void Discard(const std::string& id);
  void CancelAll();
  // The end of the server: refuses new requests with DAEMON_ENDING, and cancels running captures. Captures stay
  // readable.
  void BeginEnding();
  // Kills the collectors that have not ended by now.
  void HastenEnding();
  // Returns whether all captures have ended before `deadline` (CLOCK_MONOTONIC).
  bool AwaitEnds(Nanos deadline);
  size_t CountGoingOn();  // with dumps and live views
  // Forgets captures older than the retention or beyond the limits, and ends unattended ones. Call it regularly.
  void Expire();
  // Captures forgotten by Expire, and the bytes of their traces.
  struct ForgottenTotals {
    uint64_t captures = 0;
    uint64_t bytes = 0;
  };
  ForgottenTotals forgotten() const;

 private:
  struct Entry {
    uint64_t number = 0;  // in the order of creation
    std::string request_id;
    std::shared_ptr<CaptureSession> session;
    bool is_discarded = false;
    TraceAge age = {};
  };

  static bool MaySee(const CaptureSession& session, CaptureUser who);
  static bool MaySee(const Entry& entry, CaptureUser who) { return !entry.is_discarded && MaySee(*entry.session, who); }
  // Null: none. kInvalidArgument: the first request was a different one.
  Result<std::shared_ptr<CaptureSession>> FindRepeated(const Creation& creation) const;
  // If a quota refuses it, `whose` is set to that quota's name.
  Result<CpuGrant> CheckNew(const Creation& creation, const CallerAccess& access, const UserQuota& quota,
                            std::string& whose) const;
  Result<void> CheckLimits(const Creation& creation, const UserQuota& quota, std::string& whose) const;
  struct CpuUse {
    double cores = 0;  // sum of the shares
    Nanos time;        // used so far
  };
  CpuUse CpuUseLocked() const;  // of the running captures
  size_t CountStarting(uint32_t owner_uid, bool (*which)(const CaptureParameters&)) const;
  Result<void> CheckHidden(const CaptureTask& request, uint32_t uid) const;
  bool IsStarting(const std::function<bool(const CaptureParameters&)>& which) const;
  // Releases the lock meanwhile: a collector's start takes time, and the user who asked can delay it.
  Result<std::shared_ptr<CaptureSession>> StartUnlocked(std::unique_lock<std::mutex>& lock,
                                                        const CaptureParameters& parameters, CollectorStarter& starter);
  Result<CpuGrant> FindCpu(const CaptureTask& request, std::optional<double> budget) const;
  static void Take(const CpuGrant& grant, CaptureParameters& parameters);
  std::string FindRival(const Creation& creation, bool (*holds)(const CaptureTask&, const CaptureSnapshot&)) const;
  std::shared_ptr<SpoolAccount> AccountOf(uint32_t uid);
  Result<void> CheckNotEnding() const;
  Result<void> CheckId(const Creation& creation) const;
  std::vector<std::shared_ptr<CaptureSession>> AllLocked() const;
  using Entries = std::map<std::string, Entry>;
  void ExpireLocked();
  void EndUnattended();
  std::vector<Entries::iterator> ExpireByAge();  // returns those that have ended and stay, oldest first
  void ExpireByAmount(const std::vector<Entries::iterator>& ended);
  void Forget(Entries::iterator entry, std::string_view why);
  Entries::iterator Erase(Entries::iterator entry);

  const std::string spool_folder_;
  const CaptureLimits limits_;
  const std::unique_ptr<CaptureShelf> shelf_;
  const RegistryListener listener_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::list<const CaptureParameters*> starting_;  // being started by StartUnlocked; they count as existing captures
  std::condition_variable started_;               // notified when `starting_` shrinks
  ForgottenTotals forgotten_;
  // Kept until they have ended: ending a session takes time, and the call that releases it must not wait.
  std::vector<std::shared_ptr<CaptureSession>> hidden_;
  std::map<uint32_t, std::shared_ptr<SpoolAccount>> accounts_;  // by user
  uint64_t next_number_ = 1;
  bool is_ending_ = false;
};

}  // namespace ptrace_prof
