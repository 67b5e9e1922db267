// All captures of one server: creates them within limits, finds them by ID, and forgets them.
//
// A capture belongs to the user who created it; only that user and the administrator see it. With a shelf, captures
// outlive the daemon, and those of an earlier daemon are included. Thread-safe: one mutex guards the table of captures,
// and the parts that decide about admission and retention, which have no lock of their own. Under it are taken the
// locks of sessions and of the shelf, never the reverse. The destructor ends all captures.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "daemon/server/captures/caller_access.h"
#include "daemon/server/captures/capture_admission.h"
#include "daemon/server/captures/capture_creation.h"
#include "daemon/server/captures/capture_limits.h"
#include "daemon/server/captures/capture_retention.h"
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/capture_table.h"
#include "daemon/server/captures/capture_usage.h"
#include "daemon/server/captures/registry_listener.h"
#include "daemon/server/captures/spool_accounts.h"

namespace ptrace_prof {

class CaptureRegistry {
 public:
  using Creation = CaptureCreation;
  using Restored = CaptureRetention::Restored;

  // `shelf`: null if captures are not kept beyond our end.
  CaptureRegistry(std::string spool_folder, CaptureLimits limits, std::unique_ptr<CaptureShelf> shelf = nullptr,
                  RegistryListener listener = {});
  ~CaptureRegistry();

  // Call once, before everything else: loads what an earlier daemon left on the shelf. `on_next` is called before each
  // capture.
  Restored Restore(const std::function<void(const std::string& id)>& on_next);

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
  CaptureRetention::ForgottenTotals forgotten() const;

 private:
  // Releases the lock meanwhile: a collector's start takes time, and the user who asked can delay it.
  Result<std::shared_ptr<CaptureSession>> StartUnlocked(std::unique_lock<std::mutex>& lock,
                                                        CaptureParameters& parameters, CollectorStarter& starter);
  void EndUnattended();  // under the mutex

  const std::string spool_folder_;
  const CaptureLimits limits_;
  const std::unique_ptr<CaptureShelf> shelf_;
  const RegistryListener listener_;
  mutable std::mutex mutex_;         // guards all members below
  std::condition_variable started_;  // notified when a start has ended
  CaptureTable table_;
  SpoolAccounts accounts_;
  CaptureAdmission admission_{limits_, table_, accounts_};
  CaptureRetention retention_{limits_, shelf_.get(), listener_, table_, accounts_};
};

}  // namespace ptrace_prof
