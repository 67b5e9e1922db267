// What differs between the versions of CPython that we support and is no field of a Layout: a row for each.
//
// Only this folder knows versions by their numbers. Whoever is elsewhere asks the row of its target what that version
// can do, or where a thing is. versions.txt lists the same versions for the build and the tests; a test holds the two
// together. Constant data: offsets in bytes, kAbsent for what a version lacks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/pending_calls_row.h"

namespace ptrace_prof {

// Of _PyEval_EvalFrameDefault, which evaluates a frame.
struct FrameEvaluator {
  uint8_t throw_argument = 0;  // which argument, from 0, says that an exception is on its way; the frame is before it
  uint32_t generator = 0;      // where a frame has a pointer that is null but in those of generators,
  bool generator_is_owner = false;  // or a byte that is 1 in those
};

struct VersionFacts {
  uint8_t minor = 0;
  // Structures
  bool describes_itself = false;       // by _Py_DebugOffsets, as all later ones; else layout_table.cc has its layout
  bool tags_frame_code = false;        // the low bits of f_executable are no address
  bool has_interpreters_slot = false;  // Py_mod_multiple_interpreters (Include/moduleobject.h)
  bool has_gil_slot = false;           // Py_mod_gil
  uint32_t free_threaded_kind_shift = kAbsent;  // Layout::string_kind_shift without a GIL
  uint32_t function_code = kAbsent;             // PyFunctionObject.func_code, behind the head of the object
  // Calls
  bool has_monitoring = false;          // sys.monitoring (PEP 669) tells of them, and can leave out single functions
  uint32_t profile_function = kAbsent;  // else one does: PyThreadState.c_profilefunc (Include/cpython/pystate.h)
  // The instruction at which a frame stands that has not told of its beginning, although handlers of signals and
  // finalizers have run in it; and what it becomes by specialisation.
  uint32_t resume_operation = kAbsent;
  uint32_t resume_quick = kAbsent;
  double bytecode_tax = 1;  // so many times as long a loop without calls takes with one (measured: docs/benchmarks.md)
  std::optional<FrameEvaluator> evaluator;  // where PEP 523 is a way in: only the main thread looks at the queue
  // Pending calls: a queue of which any thread of an interpreter makes the calls, and that of the main thread.
  std::optional<PendingCallsRow> any_thread_calls;
  std::optional<PendingCallsRow> main_thread_calls;
  bool interrupts_by_signal = false;  // _thread.interrupt_main takes the number of one (Modules/_threadmodule.c)
  bool breaker_holds_traced = false;  // no traced thread makes a step while a call waits that it may not make

  std::string name() const;  // "3.12"
  bool has_free_threaded_build() const { return free_threaded_kind_shift != kAbsent; }
  bool slows_every_bytecode() const { return bytecode_tax > 1; }
};

// The oldest first.
std::span<const VersionFacts> SupportedVersions();
// nullptr: not supported.
const VersionFacts* FindFacts(const PythonVersion& version);
// Of an opened process, whose version is supported; of any other one there is nothing to be known.
const VersionFacts& FactsOf(const PythonVersion& version);
// Whether it carries _Py_DebugOffsets; also of later ones than we support.
bool DescribesItself(const PythonVersion& version);
// "3.12": the first version that has it.
std::string FirstWith(bool VersionFacts::*capability);
// "3.8 to 3.12", say
std::string SupportedRange();

}  // namespace ptrace_prof
