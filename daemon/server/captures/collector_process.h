// A collector started by us: the process, the pipe its trace comes from, and the line that tells it to stop.
//
// Start() re-executes our own program (/proc/self/exe) as "__collector" with the request as key=value arguments.
// The collector's file descriptors are named by number in its arguments, so that those we inherited keep theirs:
// a launched command may need them. EOF on the control line means "stop, detach, exit" to the collector, hence it
// goes away whatever happens to us. The destructor stops, waits a bounded time, kills and reaps.
// With a command, the collector is the command's parent (Yama's ptrace_scope 1 admits ancestors) and we become the
// subreaper of both: when the collector is gone, in whatever way, the command is our child and its status ours.
// Not thread-safe; call Start() from a process with one thread. Knows nothing about traces or CPython.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"

namespace ptrace_prof {

struct CollectorSpec {
  std::string task;                  // EncodeTask(); its target is replaced when there is a command
  std::vector<std::string> command;  // empty: the target is running already
};

// The hidden first argument: "ptrace-prof __collector STREAM_FD CONTROL_FD task=… [-- command…]".
inline constexpr char kCollectorArgument[] = "__collector";

class CollectorProcess {
 public:
  static Result<CollectorProcess> Start(const CollectorSpec& spec);
  CollectorProcess(CollectorProcess&&) noexcept;
  CollectorProcess& operator=(CollectorProcess&&) = delete;
  ~CollectorProcess();

  // With a command: its pid once it runs, or why it could not be started (kNotFound, kPermissionDenied). Once.
  Result<Pid> AwaitCommand();

  int stream_fd() const { return stream_.get(); }
  void Stop();
  void Kill();
  void ShareStops(uint8_t captures);
  // The wait(2) status once the collector has ended; nothing when it has not within `timeout`.
  std::optional<int> Wait(Nanos timeout);

 private:
  CollectorProcess(pid_t pid, UniqueFd stream, UniqueFd control);

  pid_t pid_ = -1;
  UniqueFd stream_;
  UniqueFd control_;
  UniqueFd pidfd_;
  std::optional<int> status_;
};

}  // namespace ptrace_prof
