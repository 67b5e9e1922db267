#include "symbolizer/cpython/pending_calls_table.h"

namespace ptrace_prof {
namespace {

// Include/internal/pycore_pystate.h (3.8), pycore_interp.h (3.9–3.11), pycore_ceval_state.h (3.12, 3.13),
// pycore_interp_structs.h (3.14, 3.15): struct _pending_calls, _ceval_runtime_state, _ceval_state.
constexpr PendingCallsRow Semaphore(uint8_t minor, CallRunner runner, PendingPlace pending, PendingPlace breaker,
                                    uint32_t lock, uint32_t eval_frame) {
  return {minor, runner, pending, breaker, lock, lock + 8, kAbsent, lock + 16, lock + 528, 16, 32, false, eval_frame};
}

constexpr PendingCallsRow Mutex(uint8_t minor, CallRunner runner, PendingPlace pending) {
  // PyThreadState: prev, next, interp, eval_breaker.
  return {minor, runner, pending, {PendingAnchor::kThread, 8}, 8, 12, 16, 24, 7224, 24, 300, true, kAbsent};
}

using enum PendingAnchor;
using enum CallRunner;
constexpr PendingCallsRow kRows[] = {
    Semaphore(8, kMainThread, {kRuntime, 600}, {kRuntime, 592}, 8, 568),
    Semaphore(9, kMainThread, {kInterpreter, 80}, {kInterpreter, 72}, 0, 1400),
    Semaphore(10, kMainThread, {kInterpreter, 80}, {kInterpreter, 68}, 0, 1368),
    Semaphore(11, kMainThread, {kInterpreter, 112}, {kInterpreter, 100}, 0, 1424),
    // struct _ceval_state: eval_breaker, gil_drop_request, recursion_limit, gil, own_gil, gc_scheduled, pending
    Semaphore(12, kAnyThread, {kGilPointer, 16}, {kGilPointer, -16}, 8, 1744),
    Semaphore(12, kMainThread, {kRuntime, 2016}, {kGilPointer, -16}, 8, 1744),
    // struct _ceval_state: instrumentation_version, recursion_limit, gil, own_gil, pending
    Mutex(13, kAnyThread, {kGilPointer, 16}),
    Mutex(13, kMainThread, {kRuntime, 2640}),
    Mutex(14, kAnyThread, {kGilPointer, 16}),
    Mutex(14, kMainThread, {kRuntime, 2848}),
    Mutex(15, kAnyThread, {kGilPointer, 16}),
    Mutex(15, kMainThread, {kRuntime, 2976}),
};

}  // namespace

std::span<const PendingCallsRow> PendingCallsRows() { return kRows; }

}  // namespace ptrace_prof
