// Starting the command of `record -- cmd…` inside the collector, and telling our parent how that went.
//
// The command is a plain child of the collector: it keeps the terminal, the process group, the environment and all
// inherited descriptors, and has no tie to us that would end it with us. It is never reaped by the collector: the
// subreaper above us gets its status when the collector has exited.
// The report is one line on the control socket: "started PID" or "failed ERRNO".
// LaunchCommand: call before hardening and before any thread is started.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

// Of a command that is to be recorded from its first instruction on (attach/ptrace/held_start.h). Where empty: it runs.
struct LaunchHold {
  std::function<void(Pid)> begin;  // it waits, and runs the command afterwards
  std::function<void()> step;      // again and again until it has
  std::function<void()> let_go;    // it could not run it
};

// Runs in the collector. Reports on `control` in either case. Our signal handlers become defaults in the command, what
// is ignored stays ignored: the dispositions are those that our caller gave us.
Result<Pid> LaunchCommand(const std::vector<std::string>& command, int control, const LaunchHold& hold = {});

// Runs in the parent: waits for the report. `kUnavailable`: the collector ended without one.
Result<Pid> ReceiveLaunchReport(int control);

}  // namespace ptrace_prof
