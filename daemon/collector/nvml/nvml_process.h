// The running helper program: a child with a pipe to us and no other descriptor of ours.
//
// Start it before the process is confined (it makes a memory file and executes it) and after rights were given up, as
// the helper inherits those that are left. It ends with this object, at the latest with our process. What it writes is
// hostile. One owner, one thread; the process that starts it must have one thread.
#pragma once

#include <memory>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

class NvmlProcess {
 public:
  static Result<std::unique_ptr<NvmlProcess>> Start(int pause_ms);
  ~NvmlProcess();

  int pipe() const { return pipe_.get(); }  // non-blocking

 private:
  NvmlProcess(UniqueFd pipe, Pid child) : pipe_(std::move(pipe)), child_(child) {}

  UniqueFd pipe_;
  Pid child_;
};

}  // namespace ptrace_prof
