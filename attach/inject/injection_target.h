// What must be known about a process to bring the stub into it: plain facts, gathered by who knows CPython and ELF.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/inject/bootstrap_text.h"
#include "attach/inject/frame_thunk.h"
#include "attach/proc/call_queue.h"
#include "attach/proc/memory_tail.h"
#include "attach/proc/script_requests.h"

namespace ptrace_prof {

// A function of the interpreter that every call of Python code goes through, and that may be exchanged (PEP 523).
struct FrameHook {
  RemoteAddr slot;      // where its address is; null there is as good as `function`
  RemoteAddr function;  // the interpreter's own
  FrameArguments arguments;
  std::vector<MemoryTail> code_tails;  // where a few instructions may be put, if it is zero there
};

// What runs a text of Python so that its exceptions pass, by the names of CPython.
struct TextRunner {
  RemoteAddr add_module;      // PyImport_AddModule
  RemoteAddr get_dictionary;  // PyModule_GetDict
  RemoteAddr run_string;      // PyRun_StringFlags
  RemoteAddr release;         // Py_DecRef
  std::vector<MemoryTail> code_tails;
};

class ScriptFiles;

struct InjectionTarget {
  Pid pid;
  Pid own_pid;  // as the target sees itself

  CallQueue queue;
  std::optional<Error> no_queue;  // why it is not known, where it is not
  bool main_thread_only = false;  // nobody else looks at the queue
  RemoteAddr run_text;            // int(const char*): runs a text of Python, with the rights to do so held
  std::vector<MemoryTail> tails;  // where a text may be put, if it is zero there
  bool signal_handlers = false;   // the job has some, which may raise in a text
  SignalAgain signal_again = SignalAgain::kByKernel;
  std::optional<TextRunner> text_runner;  // then, where the functions for it are known
  RemoteAddr memfd_create;                // of its libc; null: it has none
  std::optional<FrameHook> frame_hook;
  std::optional<ScriptRequests> scripts;  // that its threads can be asked to run
  ScriptFiles* script_files = nullptr;    // where such scripts are put; null: nowhere

  std::string_view only;  // the strategy of this name and no other; empty: all of them

  bool debugging_disabled = false;  // the job said that it does not want to be debugged (3.14+)
  bool force = false;               // the user wants it nevertheless
};

}  // namespace ptrace_prof
