// The helper program, running: a child with a pipe to us, and nothing else of ours.
//
// Start it before the process is confined (it makes a file in memory and a program of it) and after rights were given
// up: it has those that are left. It ends when this object does, at the latest when we do. What comes out of the pipe
// is to be taken as hostile. One owner, one thread; the process that starts it has one thread.
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

  int pipe() const { return pipe_.get(); }  // reading it does not wait

 private:
  NvmlProcess(UniqueFd pipe, Pid child) : pipe_(std::move(pipe)), child_(child) {}

  UniqueFd pipe_;
  Pid child_;
};

}  // namespace ptrace_prof
