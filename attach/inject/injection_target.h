// The facts about a process that are needed to bring a stub into it. Code that knows CPython and ELF gathers them.
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

// A replaceable function of the interpreter through which every call of Python code goes (PEP 523).
struct FrameHook {
  RemoteAddr slot;      // where the function's address is; null there means `function`
  RemoteAddr function;  // the interpreter's own function
  FrameArguments arguments;
  std::vector<MemoryTail> code_tails;  // where a few instructions may be written, if the bytes are zero
};

// The CPython functions that run a Python text and let its exceptions propagate.
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
  Pid own_pid;  // the target's own pid, in its PID namespace

  CallQueue queue;
  std::optional<Error> no_queue;  // the reason why the queue is unknown, if it is
  bool main_thread_only = false;  // no other thread checks the queue
  RemoteAddr run_text;            // int(const char*): runs a Python text; the caller must hold the GIL
  std::vector<MemoryTail> tails;  // where a text may be written, if the bytes are zero
  bool signal_handlers = false;   // the job has handlers, which may raise in a text
  SignalAgain signal_again = SignalAgain::kByKernel;
  std::optional<TextRunner> text_runner;  // set if there are handlers and the functions are known
  RemoteAddr memfd_create;                // in the target's libc; null: it has none
  std::optional<FrameHook> frame_hook;
  std::optional<ScriptRequests> scripts;  // scripts that its threads can be asked to run
  ScriptFiles* script_files = nullptr;    // where such scripts are written; null: nowhere

  std::string_view only;  // use only the strategy of this name; empty: all of them

  bool debugging_disabled = false;  // the job forbids debugging (3.14+)
  bool force = false;               // the user insists
};

}  // namespace ptrace_prof
