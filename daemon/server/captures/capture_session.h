// One capture as a resource: its collector, its trace on disk, its state, and who wants to hear of changes.
//
//   kPending ──first bytes──► kRunning ──Cancel, limit──► kDraining ──► kSucceeded | kFailed | kCancelled
//       └───────────────────────┴──── the collector ended by itself ────────┘
// One that was cancelled is kCancelled even where its collector did not end well; then `error` says so, with that code.
// With a shelf (capture_shelf.h) it is known to daemons that come after; one of an earlier daemon's has ended, and
// neither a collector nor a thread. A thread of its own carries the bytes from the collector's pipe to the spool; a
// slow reader of the trace is therefore no concern of the collector's. Thread-safe. The destructor cancels and waits
// for the collector, in bounded time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "daemon/server/captures/capture_facts.h"
#include "daemon/server/captures/capture_shelf.h"
#include "daemon/server/captures/collector.h"
#include "daemon/server/captures/spool_account.h"
#include "daemon/server/captures/trace_spool.h"
#include "daemon/trace/read/trace_meter.h"

namespace ptrace_prof {

class CaptureSession {
 public:
  static Result<std::shared_ptr<CaptureSession>> Start(const CaptureParameters& parameters, CollectorStarter& starter);
  // One of an earlier daemon's.
  static std::shared_ptr<CaptureSession> Restore(CaptureShelf::Found found);
  ~CaptureSession();

  const CaptureParameters& parameters() const { return parameters_; }
  CaptureSnapshot Snapshot() const;
  const TraceSpool& spool() const { return *spool_; }
  void ForgetTraceBefore(uint64_t offset) { spool_->ForgetBefore(offset); }
  // No effect on one that has ended; of two causes the first counts.
  void Cancel(CancelCause cause = CancelCause::kAsked);
  // The same, and a collector that does not end at once is killed.
  void CancelInHaste();
  bool WaitForEnd(Nanos timeout) const;
  // See Collector::ShareStops.
  void ShareStops(uint8_t captures);
  // For one that has ended: writes its record, where that could not be done yet.
  Result<void> SaveRecord();

  // `listener` is called from the session's thread after every change, and about once a second; it must not block.
  // After Unsubscribe has returned it is not called any more.
  using ListenerId = uint64_t;
  ListenerId Subscribe(std::function<void()> listener);
  void Unsubscribe(ListenerId id);

  // Calls that record it: with the last of them it ends. More than one where a client that lost its connection tries
  // again. LetGo: whether that was the last.
  void Hold() { ++holders_; }
  bool LetGo() { return --holders_ == 0; }

  // Somebody asks after it. Who listens does so all the time.
  void Attend() { attended_ = MonotonicNow().value; }
  // How long nobody has.
  Nanos UnattendedFor() const;

 private:
  CaptureSession(const CaptureParameters& parameters, std::unique_ptr<TraceSpool> spool,
                 std::unique_ptr<Collector> collector, UniqueFd wake, Nanos created);
  void Run();
  bool TakeBytes();
  bool HasMore(bool is_silent);  // false: no more will come
  void ObeyLimits();             // under the mutex
  Error TooMuch() const;         // of one that nobody keeps
  void TakeTotals();             // under the mutex
  void Wake();
  void ObeyCancel();
  void Conclude();
  void Rest();
  void TellEnd(std::optional<Error> error);
  void Tell();

  const CaptureParameters parameters_;
  const std::unique_ptr<TraceSpool> spool_;  // without a descriptor once it has ended and nobody reads
  std::unique_ptr<Collector> collector_;     // of the session's thread; none once it has ended

  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  UniqueFd wake_;  // an eventfd, until it has ended
  CaptureSnapshot now_;
  std::unique_ptr<TraceMeter> meter_ = std::make_unique<TraceMeter>();  // of the session's thread, until it has ended
  SpoolShare share_;                                                    // likewise
  std::optional<CancelCause> cancelled_;
  bool in_haste_ = false;
  std::optional<Error> trouble_;  // the disk, bytes that are no trace, or too many: what comes then is not stored
  std::optional<Nanos> stopping_since_;
  std::optional<Nanos> killed_since_;
  std::atomic<int> holders_ = 0;
  std::atomic<uint8_t> sharers_ = 1;  // asked for, and
  uint8_t told_sharers_ = 1;          // of the session's thread
  bool has_ended_ = false;            // the collector, and its pipe was empty
  std::string limit_message_;

  std::mutex record_mutex_;
  bool is_saved_ = false;

  std::atomic<int64_t> attended_ = MonotonicNow().value;
  std::atomic<size_t> listening_ = 0;  // how many listeners, for those who may not wait for these
  std::mutex listeners_mutex_;
  std::map<ListenerId, std::function<void()>> listeners_;
  ListenerId next_listener_ = 1;
  std::thread thread_;
};

}  // namespace ptrace_prof
