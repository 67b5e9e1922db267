// All captures of one server: creating them within limits, finding them by ID, forgetting them.
//
// Captures belong to the user who created them; nobody else sees them (root does). Thread-safe. The destructor ends
// all of them.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "daemon/session/capture_session.h"
#include "daemon/session/kept_listings.h"

namespace ptrace_prof {

struct CaptureLimits {
  size_t captures_per_user = 64;                 // going on at once
  size_t hidden_per_user = 256;                  // dumps, listings and live views at once
  size_t kept_per_user = 256;                    // ended, with their traces; the oldest goes first
  uint64_t bytes = uint64_t{8} << 30;            // of one trace
  Nanos duration;                                // of one capture; 0: no limit
  Nanos retention = Nanos::FromSeconds(3600);    // of a trace after its capture ended, unless `keep`
  Nanos stop_patience = Nanos::FromSeconds(10);  // for a collector that was told to end, before it is killed
};

class CaptureRegistry {
 public:
  CaptureRegistry(std::string spool_folder, CaptureLimits limits);
  ~CaptureRegistry();

  struct Creation {
    std::string id;          // empty: one is chosen
    std::string request_id;  // empty: none
    uint32_t owner_uid = 0;
    CaptureRequest request;
    uint64_t max_bytes = 0;
    bool keep = false;
  };
  // kAlreadyExists: the ID is taken. kResourceExhausted: too many at once. Otherwise as CollectorStarter::Start.
  // A second creation with the same request_id and owner gives the capture of the first.
  Result<std::shared_ptr<CaptureSession>> Create(const Creation& creation, CollectorStarter& starter);
  // Why Create would refuse it now, apart from what its collector will say.
  Result<void> Check(const Creation& creation);

  // A capture that is in no list and lives as long as who asked holds it; for dumps. Counts against no limit but its
  // own brevity.
  Result<std::shared_ptr<CaptureSession>> StartHidden(const CaptureRequest& request, uint32_t owner_uid,
                                                      CollectorStarter& starter);

  // kNotFound, also where it is somebody else's.
  Result<std::shared_ptr<CaptureSession>> Find(const std::string& id, uint32_t caller_uid);
  // Newest first.
  std::vector<std::shared_ptr<CaptureSession>> List(uint32_t caller_uid);
  // kFailedPrecondition: it goes on.
  Result<void> Delete(const std::string& id, uint32_t caller_uid);
  // Cancels it if it goes on, and forgets it as soon as it has ended; nobody sees it any more from now on.
  void Discard(const std::string& id);
  void CancelAll();
  // The end of the server: whatever is asked for from now on is refused with DAEMON_ENDING, and what goes on is
  // cancelled. Captures stay readable.
  void BeginEnding();
  // Collectors that have not ended by now are killed.
  void HastenEnding();
  // Whether all have ended before `deadline` (CLOCK_MONOTONIC).
  bool AwaitEnds(Nanos deadline);
  size_t CountGoingOn();  // dumps and live views too
  // Listings of processes that are given out page by page.
  KeptListings& listings() { return listings_; }
  // Forgets what is older than the retention; called now and then.
  void Expire();

 private:
  struct Entry {
    uint64_t number = 0;  // in the order of creation
    std::string request_id;
    std::shared_ptr<CaptureSession> session;
    bool is_discarded = false;
  };

  static bool MaySee(const Entry& entry, uint32_t uid);
  std::shared_ptr<CaptureSession> FindRepeated(const Creation& creation) const;
  Result<void> CheckNew(const Creation& creation) const;
  Result<void> CheckNotEnding() const;
  std::vector<std::shared_ptr<CaptureSession>> AllLocked() const;
  Result<void> CheckLimits(uint32_t uid) const;
  void ExpireLocked();

  const std::string spool_folder_;
  const CaptureLimits limits_;
  KeptListings listings_{KeptListings::Bounds{}};
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  // Until they have ended: a session's end takes time, which is not for who lets go of it.
  std::vector<std::shared_ptr<CaptureSession>> hidden_;
  uint64_t next_number_ = 1;
  bool is_ending_ = false;
};

}  // namespace ptrace_prof
