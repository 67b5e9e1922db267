// A collector that this process started: the process, the pipe of its trace, and the control line that stops it.
//
// Start() re-executes our own program (/proc/self/exe) as "__collector", with the request as key=value arguments. The
// arguments name the collector's file descriptors by number. So the descriptors that we inherited keep their numbers,
// which a launched command may need. EOF on the control line means "stop, detach, exit", so the collector ends however
// we end. The destructor stops it, waits a bounded time, kills and reaps.
// With a command, the collector is the command's parent (Yama's ptrace_scope 1 admits ancestors), and we become the
// subreaper of both: when the collector has ended, for whatever reason, the command is our child and we get its status.
// Not thread-safe; call Start() while the process has one thread. Knows nothing about traces or CPython.
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
  std::string task;                  // EncodeTask(); with a command, its target is replaced
  std::vector<std::string> command;  // empty: the target is already running
};

// The hidden first argument: "ptrace-prof __collector STREAM_FD CONTROL_FD task=… [-- command…]".
inline constexpr char kCollectorArgument[] = "__collector";

class CollectorProcess {
 public:
  static Result<CollectorProcess> Start(const CollectorSpec& spec);
  CollectorProcess(CollectorProcess&&) noexcept;
  CollectorProcess& operator=(CollectorProcess&&) = delete;
  ~CollectorProcess();

  // With a command: its pid once it runs, or why it could not be started (kNotFound, kPermissionDenied). Call once.
  Result<Pid> AwaitCommand();

  int stream_fd() const { return stream_.get(); }
  void Stop();
  void Kill();
  void ShareStops(uint8_t captures);
  // Returns the wait(2) status once the collector has ended, or nothing after `timeout`.
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
