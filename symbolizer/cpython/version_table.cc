#include "symbolizer/cpython/version_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

using enum PendingAnchor;

// Include/internal/pycore_pystate.h (3.8), pycore_interp.h (3.9–3.11), pycore_ceval_state.h (3.12, 3.13),
// pycore_interp_structs.h (3.14, 3.15): struct _pending_calls, _ceval_runtime_state, _ceval_state.
constexpr PendingCallsRow Semaphore(PendingPlace pending, PendingPlace breaker, uint32_t lock, uint32_t eval_frame) {
  return {pending, breaker, lock, lock + 8, kAbsent, lock + 16, lock + 528, 16, 32, false, eval_frame};
}

constexpr PendingCallsRow Mutex(PendingPlace pending) {
  // PyThreadState: prev, next, interp, eval_breaker.
  return {pending, {kThread, 8}, 8, 12, 16, 24, 7224, 24, 300, true, kAbsent};
}

// Include/cpython/funcobject.h: func_code came first; since 3.10 it is behind globals, builtins, name and qualname.
constexpr uint32_t kCodeFirst = 0;
constexpr uint32_t kCodeBehindQualname = 32;

// The evaluator is (f, throwflag), from 3.9 on (tstate, f, throwflag); f->f_gen, from 3.11 on f->owner, which
// is FRAME_OWNED_BY_GENERATOR (Include/cpython/frameobject.h, Include/internal/pycore_frame.h).
constexpr VersionFacts kVersions[] = {
    {.minor = 8,
     .function_code = kCodeFirst,
     .profile_function = 56,
     .evaluator = FrameEvaluator{1, 96, false},
     .main_thread_calls = Semaphore({kRuntime, 600}, {kRuntime, 592}, 8, 568)},
    {.minor = 9,
     .function_code = kCodeFirst,
     .profile_function = 56,
     .evaluator = FrameEvaluator{2, 96, false},
     .main_thread_calls = Semaphore({kInterpreter, 80}, {kInterpreter, 72}, 0, 1400)},
    {.minor = 10,
     .function_code = kCodeBehindQualname,
     .profile_function = 56,
     .bytecode_tax = 1.15,
     .evaluator = FrameEvaluator{2, 88, false},
     .main_thread_calls = Semaphore({kInterpreter, 80}, {kInterpreter, 68}, 0, 1368),
     .interrupts_by_signal = true},
    {.minor = 11,
     .function_code = kCodeBehindQualname,
     .profile_function = 64,
     .resume_operation = 151,  // Include/opcode.h
     .resume_quick = 150,
     .bytecode_tax = 1.5,
     .evaluator = FrameEvaluator{2, 69, true},
     .main_thread_calls = Semaphore({kInterpreter, 112}, {kInterpreter, 100}, 0, 1424),
     .interrupts_by_signal = true,
     .breaker_holds_traced = true},
    // struct _ceval_state: eval_breaker, gil_drop_request, recursion_limit, gil, own_gil, gc_scheduled, pending
    {.minor = 12,
     .has_interpreters_slot = true,
     .function_code = kCodeBehindQualname,
     .has_monitoring = true,
     .any_thread_calls = Semaphore({kGilPointer, 16}, {kGilPointer, -16}, 8, 1744),
     .main_thread_calls = Semaphore({kRuntime, 2016}, {kGilPointer, -16}, 8, 1744),
     .interrupts_by_signal = true},
    // struct _ceval_state: instrumentation_version, recursion_limit, gil, own_gil, pending
    {.minor = 13,
     .describes_itself = true,
     .has_interpreters_slot = true,
     .has_gil_slot = true,
     .free_threaded_kind_shift = 2,
     .function_code = kCodeBehindQualname,
     .has_monitoring = true,
     .resume_operation = 236,  // INSTRUMENTED_RESUME of Include/opcode_ids.h: all RESUMEs are that while events are on
     .any_thread_calls = Mutex({kGilPointer, 16}),
     .main_thread_calls = Mutex({kRuntime, 2640}),
     .interrupts_by_signal = true},
    // f_executable is a tagged reference (internal/pycore_stackref.h); without a GIL, `interned` is a separate byte
    // before the bit field (cpython/unicodeobject.h).
    {.minor = 14,
     .describes_itself = true,
     .tags_frame_code = true,
     .has_interpreters_slot = true,
     .has_gil_slot = true,
     .free_threaded_kind_shift = 8,
     .function_code = kCodeBehindQualname,
     .has_monitoring = true,
     .resume_operation = 245,
     .any_thread_calls = Mutex({kGilPointer, 16}),
     .main_thread_calls = Mutex({kRuntime, 2848}),
     .interrupts_by_signal = true},
    {.minor = 15,
     .describes_itself = true,
     .tags_frame_code = true,
     .has_interpreters_slot = true,
     .has_gil_slot = true,
     .free_threaded_kind_shift = 8,
     .function_code = kCodeBehindQualname,
     .has_monitoring = true,
     .resume_operation = 244,
     .any_thread_calls = Mutex({kGilPointer, 16}),
     .main_thread_calls = Mutex({kRuntime, 2976}),
     .interrupts_by_signal = true},
};
constexpr VersionFacts kUnknown;

const VersionFacts& RowWith(bool VersionFacts::*capability) { return *std::ranges::find(kVersions, true, capability); }

}  // namespace

std::span<const VersionFacts> SupportedVersions() { return kVersions; }

const VersionFacts* FindFacts(const PythonVersion& version) {
  const auto* row = std::ranges::find(kVersions, version.minor, &VersionFacts::minor);
  return version.major == 3 && row != std::end(kVersions) ? row : nullptr;
}

const VersionFacts& FactsOf(const PythonVersion& version) {
  const VersionFacts* row = FindFacts(version);
  return row != nullptr ? *row : kUnknown;
}

bool DescribesItself(const PythonVersion& version) {
  return version.major == 3 && version.minor >= RowWith(&VersionFacts::describes_itself).minor;
}

std::string VersionFacts::name() const { return fmt::format("3.{}", minor); }

std::string FirstWith(bool VersionFacts::*capability) { return RowWith(capability).name(); }

std::string SupportedRange() {
  return fmt::format("{} to {}", std::begin(kVersions)->name(), std::rbegin(kVersions)->name());
}

}  // namespace ptrace_prof
