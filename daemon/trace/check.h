// One condition that profiling depends on (`ptrace-prof doctor`): its state, the cause, and the remedy.
//
// Plain data. Scripts may rely on the identifier `subject` (docs/cli.md lists them) and on the name of `reason`; the
// rest is for people.
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class Verdict : uint8_t {
  kOk,
  kLimited,  // profiling works, but only in part, or not for every user
  kMissing,  // profiling does not work
};

struct Check {
  Pid pid;  // the process concerned; 0: the whole node
  std::string subject;
  Verdict verdict = Verdict::kOk;
  std::string cause;                     // what was found; always set
  std::string remedy;                    // empty if there is none, or none is needed
  Code code = Code::kOk;                 // kMissing: the code of the error with which a capture would end
  Reason reason = Reason::kUnspecified;  // what prevents or limits profiling
};

}  // namespace ptrace_prof
