// One capture as a resource: its collector, its trace on disk, its state, and the listeners for changes.
//
//   kPending ──first bytes──► kRunning ──Cancel, limit──► kDraining ──► kSucceeded | kFailed | kCancelled
//       └───────────────────────┴──── the collector ended by itself ────────┘
// A cancelled capture is kCancelled even if its collector did not end cleanly; then `error` describes that, with the
// code of the cancellation.
// With a shelf (capture_shelf.h) later daemons know the capture; one from an earlier daemon has ended, and has neither
// a collector nor a thread. A thread of its own copies bytes from the collector's pipe to the spool, so a slow reader
// of the trace does not slow the collector. Thread-safe. The destructor cancels, and waits for the collector for a
// bounded time.
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
  // Restores a capture of an earlier daemon.
  static std::shared_ptr<CaptureSession> Restore(CaptureShelf::Found found);
  ~CaptureSession();

  const CaptureParameters& parameters() const { return parameters_; }
  CaptureSnapshot Snapshot() const;
  const TraceSpool& spool() const { return *spool_; }
  void ForgetTraceBefore(uint64_t offset) { spool_->ForgetBefore(offset); }
  // No effect after the end. The first cause counts.
  void Cancel(CancelCause cause = CancelCause::kAsked);
  // As Cancel, and kills a collector that does not end at once.
  void CancelInHaste();
  bool WaitForEnd(Nanos timeout) const;
  // See Collector::ShareStops.
  void ShareStops(uint8_t captures);
  // Writes the record of an ended capture if that has not succeeded yet.
  Result<void> SaveRecord();

  // `listener` is called on the session's thread after every change, and about once a second; it must not block. It is
  // not called after Unsubscribe has returned.
  using ListenerId = uint64_t;
  ListenerId Subscribe(std::function<void()> listener);
  void Unsubscribe(ListenerId id);

  // Counts the calls that record this capture; it ends with the last one. There are several while a client that lost
  // its connection tries again. LetGo returns whether it was the last.
  void Hold() { ++holders_; }
  bool LetGo() { return --holders_ == 0; }

  // Records that a client asks for this capture. A listener counts as asking all the time.
  void Attend() { attended_ = MonotonicNow().value; }
  // The time since a client last asked.
  Nanos UnattendedFor() const;

 private:
  CaptureSession(const CaptureParameters& parameters, std::unique_ptr<TraceSpool> spool,
                 std::unique_ptr<Collector> collector, UniqueFd wake, Nanos created);
  void Run();
  bool TakeBytes();
  bool HasMore(bool is_silent);  // false: no more bytes will come
  void ObeyLimits();             // under the mutex
  Error TooMuch() const;         // for captures that are not kept
  void TakeTotals();             // under the mutex
  void Wake();
  void ObeyCancel();
  void Conclude();
  void Rest();
  void ReportEnd(std::optional<Error> error);
  void Report();

  const CaptureParameters parameters_;
  const std::unique_ptr<TraceSpool> spool_;  // closed once the capture has ended and has no reader
  std::unique_ptr<Collector> collector_;     // used by the session's thread; null after the end

  mutable std::mutex mutex_;
  mutable std::condition_variable ended_;
  UniqueFd wake_;  // an eventfd, until the capture has ended
  CaptureSnapshot now_;
  std::unique_ptr<TraceMeter> meter_ = std::make_unique<TraceMeter>();  // used by the session's thread, until the end
  SpoolShare share_;                                                    // as above
  std::optional<CancelCause> cancelled_;
  bool in_haste_ = false;
  std::optional<Error> trouble_;  // disk error, malformed trace, or too much data; later bytes are not stored
  std::optional<Nanos> stopping_since_;
  std::optional<Nanos> killed_since_;
  std::atomic<int> holders_ = 0;
  std::atomic<uint8_t> sharers_ = 1;  // the requested value
  uint8_t reported_sharers_ = 1;      // the value last sent; used by the session's thread
  bool has_ended_ = false;            // the collector had ended when its pipe was empty
  std::string limit_message_;

  std::mutex record_mutex_;
  bool is_saved_ = false;

  std::atomic<int64_t> attended_ = MonotonicNow().value;
  std::atomic<size_t> listening_ = 0;  // number of listeners, readable without the lock
  std::mutex listeners_mutex_;
  std::map<ListenerId, std::function<void()>> listeners_;
  ListenerId next_listener_ = 1;
  std::thread thread_;
};

}  // namespace ptrace_prof
