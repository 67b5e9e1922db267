// One thing that profiling depends on (`ptrace-prof doctor`): how it stands, why, and what to do about it.
//
// Pure data. `subject` is an identifier that scripts may rely on (docs/cli.md lists them), and so is the name of
// `reason`; the rest is for people.
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class Verdict : uint8_t {
  kOk,
  kLimited,  // profiling works, with less than all of it or not for everybody
  kMissing,  // profiling does not work
};

struct Check {
  Pid pid;  // about this process; 0: about the node
  std::string subject;
  Verdict verdict = Verdict::kOk;
  std::string cause;                     // what was found, in any case
  std::string remedy;                    // empty where there is none, or none is needed
  Code code = Code::kOk;                 // kMissing: that of the error with which a capture would end
  Reason reason = Reason::kUnspecified;  // what stands in the way, or limits it
};

}  // namespace ptrace_prof
