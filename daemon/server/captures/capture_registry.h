// All captures of one server: creating them within limits, finding them by ID, forgetting them.
//
// Captures belong to the user who created them; nobody else sees them (the administrator does). With a shelf they
// outlive us, and those of an earlier daemon are among them. Thread-safe. The destructor ends all of them.
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
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/cpu_budget.h"
#include "daemon/server/captures/kept_listings.h"
#include "daemon/server/captures/start_pool.h"
#include "daemon/server/captures/trace_age.h"
#include "daemon/server/captures/unsent_bytes.h"

namespace ptrace_prof {

struct CaptureLimits {
  size_t captures_per_user = 64;               // going on at once
  size_t brief_per_user = 16;                  // dumps, listings and diagnoses at once, until their answers are sent
  size_t live_per_user = 32;                   // live views at once
  size_t kept_per_user = 256;                  // ended, with their traces; the oldest goes first
  uint64_t brief_bytes = uint64_t{16} << 20;   // of one dump, listing or diagnosis: that is one message
  uint64_t live_bytes = uint64_t{64} << 20;    // of one live view that wait to be counted
  UnsentBytes::Bounds unsent;                  // in memory
  uint64_t bytes = uint64_t{8} << 30;          // of one trace
  Nanos duration;                              // of one capture; 0: no limit
  Nanos retention = Nanos::FromSeconds(3600);  // of a trace after its capture ended, unless `keep`
  Nanos kept_for;                              // the same of all; 0: no limit
  uint64_t kept_bytes = 0;  // of the traces of all that have ended; the oldest of who has most goes first; 0: no limit
  Nanos stop_patience = Nanos::FromSeconds(10);  // for a collector that was told to end, before it is killed
  // After which a capture that nobody asks after is ended, unless `keep`: its client is gone; 0: never.
  Nanos unattended = Nanos::FromSeconds(60);
};

// A capture whose trace was given up without anybody asking for that.
struct ForgottenCapture {
  std::string id;
  uint32_t owner_uid = 0;
  uint64_t bytes = 0;
  std::string_view why;  // "age", "bytes" or "count"
};

// Whom a registry tells what nobody asks for; called under its lock, so it must not be called back. The end of a
// capture, also of one that is in no list, is told on that capture's thread.
struct RegistryListener {
  std::function<void(const ForgottenCapture&)> on_forgotten = [](const ForgottenCapture&) {};
  std::function<void(const Error&)> on_trouble = [](const Error&) {};
  CaptureEnded on_end = nullptr;
};

// How much a registry keeps, of those captures that somebody may see.
struct CaptureUsage {
  std::array<uint64_t, kCaptureStates> by_state{};
  uint64_t trace_bytes = 0;
  size_t users = 0;  // that have some
  size_t brief = 0;  // dumps, listings and live views that go on
  // Of everybody's that go on, dumps and live views too:
  double cpu_cores = 0;              // that they are counted with (cpu_budget.h)
  Nanos cpu_time;                    // that their collectors have used, as they said last
  std::optional<double> cpu_budget;  // whoever knows the policy sets it
};

class CaptureRegistry {
 public:
  // `shelf`: null where captures are gone with us.
  CaptureRegistry(std::string spool_folder, CaptureLimits limits, std::unique_ptr<CaptureShelf> shelf = nullptr,
                  RegistryListener listener = {});
  ~CaptureRegistry();

  // Once, at first: takes in what an earlier daemon left on the shelf. `on_next` is called before each capture.
  struct Restored {
    size_t captures = 0;
    size_t interrupted = 0;  // went on when it ended
  };
  Restored Restore(const std::function<void(const std::string& id)>& on_next);

  struct Creation {
    std::string id;          // empty: one is chosen
    std::string request_id;  // empty: none
    CaptureUser owner = {};
    CaptureTask request;
  };
  // kAlreadyExists: the ID is taken. kResourceExhausted: too many at once, too many bytes, too long, no CPU time left;
  // the limits are ours, the quota of who has the starter, and its budget. Otherwise as CollectorStarter::Start. A
  // second creation with the same request_id and owner gives the capture of the first (kInvalidArgument: that was asked
  // to be another: another request, size or keep), also of an earlier daemon's.
  Result<std::shared_ptr<CaptureSession>> Create(const Creation& creation, CollectorStarter& starter);
  // Why Create would refuse it now, apart from what its collector will say.
  Result<void> Check(const Creation& creation, CollectorStarter& starter);

  // A capture that is in no list and lives as long as who asked holds it: a dump, a listing, a live view. Its limits
  // are those of brief ones, or of live views.
  Result<std::shared_ptr<CaptureSession>> StartHidden(const CaptureTask& request, CaptureUser owner,
                                                      CollectorStarter& starter);

  // Null: there is none, or the caller may see it. For a record of who asks for what is not theirs.
  std::shared_ptr<CaptureSession> FindAnothers(const std::string& id, CaptureUser caller);
  // kNotFound, also where it is somebody else's.
  Result<std::shared_ptr<CaptureSession>> Find(const std::string& id, CaptureUser caller);
  // Newest first.
  std::vector<std::shared_ptr<CaptureSession>> List(CaptureUser caller);
  CaptureUsage Usage(CaptureUser caller);
  const CaptureLimits& limits() const { return limits_; }
  const std::string& spool_folder() const { return spool_folder_; }
  // kFailedPrecondition: it goes on.
  Result<void> Delete(const std::string& id, CaptureUser caller);
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
  // What of answers is kept in memory until clients take it.
  UnsentBytes& unsent() { return unsent_; }
  // For whoever must not wait until a capture has been started, as Create and StartHidden do.
  StartPool& starts() { return starts_; }
  // Forgets what is older than the retention, or too much, and ends what nobody asks after; called now and then.
  void Expire();
  // Captures that were forgotten so, and the bytes of their traces.
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
  // Null: none. kInvalidArgument: that one asked for something else.
  Result<std::shared_ptr<CaptureSession>> FindRepeated(const Creation& creation) const;
  // Where a limit refuses it, it is told whose.
  Result<CpuGrant> CheckNew(const Creation& creation, CollectorStarter& starter, const UserQuota& quota,
                            std::string& whose) const;
  Result<void> CheckLimits(const Creation& creation, const UserQuota& quota, std::string& whose) const;
  struct CpuUse {
    double cores = 0;  // counted with
    Nanos time;        // used so far
  };
  CpuUse CpuUseLocked() const;  // of those that go on
  size_t CountStarting(uint32_t owner_uid, bool (*which)(const CaptureParameters&)) const;
  Result<void> CheckHidden(const CaptureTask& request, uint32_t uid) const;
  bool IsStarting(const std::function<bool(const CaptureParameters&)>& which) const;
  // Lets go of the lock meanwhile: a collector's start takes time, and who asked can draw it out.
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
  std::vector<Entries::iterator> ExpireByAge();  // gives those that have ended and stay, the oldest first
  void ExpireByAmount(const std::vector<Entries::iterator>& ended);
  void Forget(Entries::iterator entry, std::string_view why);
  Entries::iterator Erase(Entries::iterator entry);

  const std::string spool_folder_;
  const CaptureLimits limits_;
  KeptListings listings_{KeptListings::Bounds{}};
  UnsentBytes unsent_;
  const std::unique_ptr<CaptureShelf> shelf_;
  const RegistryListener listener_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::list<const CaptureParameters*> starting_;  // by StartUnlocked; they count as if they were there
  std::condition_variable started_;               // fewer of these
  ForgottenTotals forgotten_;
  // Until they have ended: a session's end takes time, which is not for who lets go of it.
  std::vector<std::shared_ptr<CaptureSession>> hidden_;
  std::map<uint32_t, std::shared_ptr<SpoolAccount>> accounts_;  // by user
  uint64_t next_number_ = 1;
  bool is_ending_ = false;
  StartPool starts_{4};  // last: its jobs use all of this
};

}  // namespace ptrace_prof
