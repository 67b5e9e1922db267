// Starts the command of `record -- cmd…` inside the collector, and reports the result to our parent.
//
// The command is a plain child of the collector. It keeps the terminal, the process group, the environment and all
// inherited descriptors, and does not end with the collector. The collector never reaps it: the subreaper above gets
// its status after the collector has exited. The report is one line on the control socket: "started PID" or "failed
// ERRNO". Call LaunchCommand before hardening and before any thread is started.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// For a command that is recorded from its first instruction on (attach/ptrace/held_start.h). If empty, the command just
// runs.
struct LaunchHold {
  std::function<void(Pid)> begin;  // called while the child waits before its exec
  std::function<void()> step;      // called again and again until the exec is done
  std::function<void()> let_go;    // called if the command could not be run
};

// Runs in the collector. Reports on `control` in either case. In the command, signals that we handle get their default
// action, and ignored signals stay ignored: these are the dispositions that our caller gave us.
Result<Pid> LaunchCommand(const std::vector<std::string>& command, int control, const LaunchHold& hold = {});

// Runs in the parent: waits for the report. `kUnavailable`: the collector ended without one.
Result<Pid> ReceiveLaunchReport(int control);

}  // namespace ptrace_prof
