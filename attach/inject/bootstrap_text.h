// The two Python texts that bring the stub into a target: the first makes an empty memfd, and the second loads the stub
// that the collector has put into it.
//
// Pure functions. A text binds no name in __main__, prints nothing, and catches every exception, but propagates what a
// signal handler of the job raises meanwhile, or has its signal sent again. It imports only modules that are loaded
// (except _ctypes, if there is no os.memfd_create). In a forked child it does nothing except close a memfd of ours. It
// has at most kMaxTextBytes and no character that needs quoting.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/base/types.h"

namespace ptrace_prof {

inline constexpr size_t kMaxTextBytes = 1056;
// The beginning of every text; no other string of a Python program begins like this.
inline constexpr std::string_view kTextBegin =
    "try:exec.__class__ is [].append.__class__ and exec(\"from sys import modules as m\\np=m['posix']\\n";

// How a signal is sent again if its handler has ended a text of ours. The kernel would end a job that has no handler
// any more, so the interpreter sends the signal where it can (_thread.interrupt_main with a signal).
enum class SignalAgain : uint8_t { kByKernel, kByInterpreter };

struct MakeFileRequest {
  Pid own_pid;  // the target's own pid, in its PID namespace
  std::string_view file_name;
  RemoteAddr memfd_create;  // in the target's libc, for a Python that was built without it (null: there is none)
  SignalAgain again = SignalAgain::kByKernel;
};
std::string MakeFileText(const MakeFileRequest& request);

struct LoadRequest {
  Pid own_pid;
  int32_t descriptor = -1;      // of the memfd
  std::string_view file_name;   // its name
  std::vector<int32_t> strays;  // descriptors that a killed collector left: closed too
  std::string_view prefix;      // the common prefix of these names
  std::string_view module;
  uint32_t salt = 0;  // makes the path a new one each time: the dynamic linker treats the same path as the same file
  SignalAgain again = SignalAgain::kByKernel;
};
std::string LoadText(const LoadRequest& request);

// Only closes memfds with this name prefix: used after a signal handler of the job ended the text above before it could
// close them, or after a collector was killed.
std::string CloseText(std::span<const int32_t> descriptors, std::string_view prefix, SignalAgain again);

// One of these texts in the form for places where exceptions may propagate (propagating_text.h): exceptions of the
// job's signal handlers do.
std::string AsPropagating(std::string_view text);

// One of these texts as a script at `path`, which any number of threads may run: the first thread runs the text. Each
// thread appends a byte to the file, so that the collector sees when all have read it.
std::string AsScript(std::string_view text, Pid own_pid, std::string_view path);

}  // namespace ptrace_prof
