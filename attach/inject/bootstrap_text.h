// The two texts of Python that bring the stub into a target: the first makes an empty memfd, the second loads what we
// have filled it with.
//
// Pure functions. A text binds no name in __main__, prints nothing, catches everything (and lets pass what a signal
// handler of the job raises meanwhile, or has its signal come again), imports nothing that is not loaded (but _ctypes,
// where there is no os.memfd_create), and does nothing in a forked child (but for closing a memfd of ours). It is at
// most kMaxTextBytes long and holds no character that needs to be quoted.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr size_t kMaxTextBytes = 1056;
// What every text begins with; no other string of a Python program does.
inline constexpr std::string_view kTextBegin =
    "try:exec.__class__ is [].append.__class__ and exec(\"from sys import modules as m\\np=m['posix']\\n";

// By whom a signal is sent again whose handler has ended a text of ours. The kernel would end a job that has no handler
// by then, so the interpreter does it where it can (_thread.interrupt_main of a signal).
enum class SignalAgain : uint8_t { kByKernel, kByInterpreter };

struct MakeFileRequest {
  Pid own_pid;  // as the target sees itself
  std::string_view file_name;
  RemoteAddr memfd_create;  // of the target's libc, for a Python that was built without it (null: there is none)
  SignalAgain again = SignalAgain::kByKernel;
};
std::string MakeFileText(const MakeFileRequest& request);

struct LoadRequest {
  Pid own_pid;
  int32_t descriptor = -1;      // of the memfd
  std::string_view file_name;   // its name
  std::vector<int32_t> strays;  // those that a collector left which was killed: closed too
  std::string_view prefix;      // of the names of all of them
  std::string_view module;
  uint32_t salt = 0;  // makes the path another one each time: the dynamic linker takes the same path for the same file
  SignalAgain again = SignalAgain::kByKernel;
};
std::string LoadText(const LoadRequest& request);

// Only closes memfds whose names begin so: where a signal handler of the job ended the text above just before it could,
// or a collector was killed.
std::string CloseText(std::span<const int32_t> descriptors, std::string_view prefix, SignalAgain again);

// One of these as what is run where its exceptions may pass (propagating_text.h): those of the job's signal handlers
// do.
std::string AsPassing(std::string_view text);

// One of these as a script of that path, which any number of threads may run: the first one does what the text says.
// Each adds a byte to the file, so that it is seen when they have read it.
std::string AsScript(std::string_view text, Pid own_pid, std::string_view path);

}  // namespace ptrace_prof
