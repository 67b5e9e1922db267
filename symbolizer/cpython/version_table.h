// Differences between the supported versions of CPython that are not fields of a Layout: one row per version.
//
// Only this folder tests version numbers. Other code queries the row of its target for capabilities and offsets.
// versions.txt lists the same versions for the build and the tests; a test compares the two. Constant data: offsets in
// bytes, kAbsent for what a version lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/pending_calls_row.h"

namespace ptrace_prof {

// About _PyEval_EvalFrameDefault, which evaluates a frame.
struct FrameEvaluator {
  uint8_t throw_argument = 0;  // index (from 0) of the argument that says that an exception is active; the frame is the
                               // argument before it
  uint32_t generator = 0;      // offset in a frame of a pointer that is null except in frames of generators,
  bool generator_is_owner = false;  // or of a byte that is 1 in those
};

struct VersionFacts {
  uint8_t minor = 0;
  // Structures
  bool describes_itself = false;                // by _Py_DebugOffsets, as do all later ones; otherwise its layout is in
                                                // layout_table.cc
  bool tags_frame_code = false;                 // the low bits of f_executable are not part of the address
  bool has_interpreters_slot = false;           // Py_mod_multiple_interpreters (Include/moduleobject.h)
  bool has_gil_slot = false;                    // Py_mod_gil
  uint32_t free_threaded_kind_shift = kAbsent;  // Layout::string_kind_shift without a GIL
  uint32_t function_code = kAbsent;             // PyFunctionObject.func_code, relative to the end of the object's head
  // Calls
  bool has_monitoring = false;          // sys.monitoring (PEP 669) reports them, and can leave out single functions
  uint32_t profile_function = kAbsent;  // otherwise a profile function: PyThreadState.c_profilefunc
                                        // (Include/cpython/pystate.h)
  // The instruction of a frame that has not reported its begin, although signal handlers and finalizers have run in it;
  // and the specialised form of that instruction.
  uint32_t resume_operation = kAbsent;
  uint32_t resume_quick = kAbsent;
  double bytecode_tax = 1;  // slowdown of a loop without calls by a profile function (measured: docs/benchmarks.md)
  std::optional<FrameEvaluator> evaluator;  // if PEP 523 is an injection path: only the main thread checks the queue
  // Pending calls: the queue whose calls any thread of an interpreter makes, and that of the main thread.
  std::optional<PendingCallsRow> any_thread_calls;
  std::optional<PendingCallsRow> main_thread_calls;
  bool interrupts_by_signal = false;  // _thread.interrupt_main takes a signal number (Modules/_threadmodule.c)
  bool breaker_holds_traced = false;  // a traced thread makes no step while a call waits that it may not make

  std::string name() const;  // "3.12"
  bool has_free_threaded_build() const { return free_threaded_kind_shift != kAbsent; }
  bool slows_every_bytecode() const { return bytecode_tax > 1; }
};

// Oldest first.
std::span<const VersionFacts> SupportedVersions();
// nullptr: not supported.
const VersionFacts* FindFacts(const PythonVersion& version);
// For the version of an opened process, which is supported; other versions have no facts.
const VersionFacts& FactsOf(const PythonVersion& version);
// Whether it has _Py_DebugOffsets; also true for later versions than we support.
bool DescribesItself(const PythonVersion& version);
// "3.12": the first version with that capability.
std::string FirstWith(bool VersionFacts::*capability);
// For example "3.8 to 3.12".
std::string SupportedRange();

}  // namespace ptrace_prof
