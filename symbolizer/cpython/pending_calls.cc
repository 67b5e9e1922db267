#include "symbolizer/cpython/pending_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "attach/proc/call_queue_image.h"
#include "attach/proc/maps.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

constexpr int kLooks = 5;  // at a queue that looks inconsistent: it may be changing
constexpr uint32_t kMutexBits = 3;
constexpr uint32_t kCallFlags = 3;
constexpr uint64_t kCallsToDoBit = 4;  // _PY_CALLS_TO_DO_BIT, 3.13+

class Finder {
 public:
  Finder(Pid pid, RemoteMemory& memory, const PythonProcess& process, RemoteAddr interpreter,
         const PendingCallsRow& row)
      : pid_(pid), memory_(memory), process_(process), interpreter_(interpreter), row_(row) {}

  Result<PendingCalls> Find(CallRunner runner) {
    PP_ASSIGN_OR_RETURN(regions_, ReadMaps(pid_));
    const RemoteAddr pending = Place(row_.pending);
    CallQueue queue;
    queue.count = pending + row_.count;
    queue.counts = row_.mutex;
    queue.calls = pending + row_.calls;
    queue.call_size = row_.call_size;
    queue.slots = row_.slots;
    queue.limit = row_.slots - 1;
    queue.first = pending + row_.first;
    PP_RETURN_IF_ERROR(SetLock(pending, queue));
    PP_RETURN_IF_ERROR(SetLimit(pending, queue));
    SetBreaker(queue);
    PP_RETURN_IF_ERROR(CheckNeighbours(queue));
    PP_RETURN_IF_ERROR(CheckCalls(queue));
    const RemoteAddr eval_frame = row_.eval_frame != kAbsent ? interpreter_ + row_.eval_frame : RemoteAddr();
    return PendingCalls{queue, runner, eval_frame};
  }

 private:
  const Layout& layout() const { return process_.layout; }

  RemoteAddr Place(const PendingPlace& place) const {
    const auto offset = static_cast<uint64_t>(static_cast<int64_t>(place.offset));
    switch (place.anchor) {
      case PendingAnchor::kRuntime: return process_.runtime + offset;
      case PendingAnchor::kGilPointer: return interpreter_ + layout().interp_gil_pointer + offset;
      case PendingAnchor::kInterpreter:
      case PendingAnchor::kThread: break;
    }
    return interpreter_ + offset;
  }

  Error Implausible(std::string_view what) const {
    return Because(
        Reason::kUnknownQueueLayout,
        fmt::format("process {} runs CPython {}, whose pending calls are not where known versions keep them: {}",
                    pid_.value, process_.version_text, what),
        "Sample it instead (record without --mode trace), and report the version.", ThingOf(pid_));
  }

  template <typename T>
  Result<T> Value(RemoteAddr at) const {
    T value{};
    switch (memory_.ReadValue(at, &value)) {
      case ReadStatus::kOk: return value;
      case ReadStatus::kGone: return ErrnoError(ESRCH, fmt::format("cannot read process {}", pid_.value));
      case ReadStatus::kDenied: return ErrnoError(EPERM, fmt::format("cannot read process {}", pid_.value));
      case ReadStatus::kFault: break;
    }
    return Implausible("nothing is mapped there");
  }

  const MemoryRegion* RegionOf(RemoteAddr at) const {
    const auto region = std::ranges::find_if(regions_, [&](const auto& r) { return r.start <= at && at < r.end; });
    return region == regions_.end() ? nullptr : &*region;
  }
  bool IsCode(RemoteAddr at) const {
    const MemoryRegion* region = RegionOf(at);
    return region != nullptr && region->executable;
  }

  Result<void> SetLock(RemoteAddr pending, CallQueue& queue) const {
    if (row_.mutex) {
      queue.lock = pending + row_.lock;
      queue.lock_width = 1;
      queue.lock_free = 0;
      PP_ASSIGN_OR_RETURN(const uint8_t lock, Value<uint8_t>(queue.lock));
      return lock <= kMutexBits ? Result<void>() : Implausible("the value of the lock is impossible");
    }
    PP_ASSIGN_OR_RETURN(const uint64_t semaphore, Value<uint64_t>(pending + row_.lock));
    queue.lock = RemoteAddr(semaphore);
    const MemoryRegion* region = RegionOf(queue.lock);
    if (region == nullptr || !region->writable || semaphore % alignof(uint64_t) != 0) {
      return Implausible("there is no lock");
    }
    PP_ASSIGN_OR_RETURN(const uint32_t value, Value<uint32_t>(queue.lock));
    return value <= 1 ? Result<void>() : Implausible("the value of the lock is impossible");
  }

  Result<void> SetLimit(RemoteAddr pending, CallQueue& queue) const {
    if (row_.max == kAbsent) {
      return {};
    }
    PP_ASSIGN_OR_RETURN(const auto max, (Value<std::array<int32_t, 2>>(pending + row_.max)));  // max and maxloop
    if (max[0] < 1 || max[0] > static_cast<int32_t>(row_.slots) || max[1] < 0 || max[1] > max[0]) {
      return Implausible("the limits of the queue are impossible");
    }
    queue.limit = static_cast<uint32_t>(max[0]);
    return {};
  }

  void SetBreaker(CallQueue& queue) const {
    if (row_.breaker.anchor != PendingAnchor::kThread) {
      queue.breaker.word = Place(row_.breaker);
      if (FactsOf(layout().version).breaker_holds_traced) {
        SetHolding(queue);
      }
      return;
    }
    // A thread that takes the GIL detects waiting calls itself: only the thread that has it must be notified, once.
    queue.breaker.forgets = false;
    queue.breaker.width = 8;
    queue.breaker.bits = kCallsToDoBit;
    queue.breaker.list_head = interpreter_ + layout().interp_threads_head;
    queue.breaker.list_next = layout().thread_next;
    queue.breaker.list_owner = layout().thread_interp;
    queue.breaker.list_word = layout().thread_interp + static_cast<uint32_t>(row_.breaker.offset);
    queue.breaker.owner = interpreter_;
  }

  // If calls are traced, RESUME checks the breaker, and then starts over (DO_TRACING in Python/ceval.c): a thread that
  // may not make the calls never gets past it. A thread that takes the GIL computes the breaker itself (take_gil in
  // Python/ceval_gil.h), so the main thread needs no reminder.
  void SetHolding(CallQueue& queue) const {
    constexpr int32_t kAsyncExceptionAt = 4;  // behind calls_to_do
    constexpr int32_t kDropRequestAt = 4;     // behind eval_breaker
    constexpr int32_t kSignalsBefore = 8;     // _PyRuntime.ceval: signals_pending, then the GIL
    queue.breaker.forgets = false;
    queue.breaker.holds_traced = true;
    queue.breaker.reasons = {queue.breaker.word + kDropRequestAt, queue.count + kAsyncExceptionAt,
                             process_.runtime + (layout().runtime_gil - kSignalsBefore)};
    queue.traced = TracedFlags{.head = interpreter_ + layout().interp_threads_head,
                               .next = layout().thread_next,
                               .native_id = layout().thread_native_id,
                               .frame = layout().thread_cframe,
                               .runner = 0};
  }

  Result<void> CheckNeighbours(const CallQueue& queue) const {
    if (!queue.breaker.word.IsNull()) {
      PP_ASSIGN_OR_RETURN(const auto requests, (Value<std::array<uint32_t, 2>>(queue.breaker.word)));
      if (requests[0] > 1 || requests[1] > 1) {  // eval_breaker and gil_drop_request
        return Implausible("the words beside them are not requests");
      }
    }
    if (row_.eval_frame != kAbsent) {
      PP_ASSIGN_OR_RETURN(const uint64_t function, Value<uint64_t>(interpreter_ + row_.eval_frame));
      if (function != 0 && !IsCode(RemoteAddr(function))) {
        return Implausible("the function that evaluates frames is not a function");
      }
    }
    if (layout().Has(&Layout::interp_gil_pointer)) {
      PP_ASSIGN_OR_RETURN(const uint32_t own, Value<uint32_t>(interpreter_ + layout().interp_gil_pointer + 8));
      if (own > 1) {
        return Implausible("it is unclear whether the interpreter has its own GIL");
      }
    }
    return {};
  }

  // Every waiting slot holds a function. Other slots are empty or, if they are not cleared, hold one that has run.
  Result<void> CheckCalls(const CallQueue& queue) const {
    Error last;
    for (int look = 0; look < kLooks; ++look) {
      Result<CallQueueImage> image = CallQueueImage::Read(memory_, queue);
      if (image.has_error()) {
        last = image.error().code == Code::kDataLoss ? Implausible("the ends of the queue are impossible")
                                                     : std::move(image).error();
        continue;
      }
      bool good = true;
      for (uint32_t slot = 0; slot < queue.slots && good; ++slot) {
        const RemoteAddr function = image.value().At(slot).function;
        const bool waits = image.value().Waits(slot);
        good = function.IsNull() ? !waits : IsCode(function) && (waits || !row_.mutex);
        good &= image.value().flags(slot) <= kCallFlags;
      }
      if (good) {
        return {};
      }
      last = Implausible("the queued calls are not functions");
    }
    return last;
  }

  Pid pid_;
  RemoteMemory& memory_;
  const PythonProcess& process_;
  RemoteAddr interpreter_;
  const PendingCallsRow& row_;
  std::vector<MemoryRegion> regions_;
};

Result<PendingCalls> FindByRow(Pid pid, RemoteMemory& memory, const PythonProcess& process, RemoteAddr interpreter,
                               const std::optional<CallRunner>& runner) {
  const Layout& layout = process.layout;
  // Without a GIL the interpreter's structures are the same up to its own queue; the runtime's queue is elsewhere.
  const bool is_elsewhere = layout.free_threaded && runner == CallRunner::kMainThread;
  if (layout.debug_build || is_elsewhere) {
    return Because(Reason::kUnknownQueueLayout,
                   fmt::format("process {} runs CPython {}, a build whose pending calls are not known", pid.value,
                               process.version_text),
                   "Sample it instead (record without --mode trace).", ThingOf(pid));
  }
  const VersionFacts& facts = FactsOf(layout.version);
  for (const auto kind : {CallRunner::kAnyThread, CallRunner::kMainThread}) {
    const auto& row = kind == CallRunner::kAnyThread ? facts.any_thread_calls : facts.main_thread_calls;
    if (row && runner.value_or(kind) == kind) {
      return Finder(pid, memory, process, interpreter, *row).Find(kind);
    }
  }
  return Because(Reason::kUnknownQueueLayout,
                 fmt::format("CPython {} has no known pending calls of this kind", process.version_text),
                 "Sample the process instead (record without --mode trace).", ThingOf(pid));
}

}  // namespace

Result<PendingCalls> FindPendingCalls(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                      RemoteAddr interpreter) {
  return FindByRow(pid, memory, process, interpreter, std::nullopt);
}

Result<PendingCalls> FindPendingCalls(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                      RemoteAddr interpreter, CallRunner runner) {
  return FindByRow(pid, memory, process, interpreter, runner);
}

}  // namespace ptrace_prof
