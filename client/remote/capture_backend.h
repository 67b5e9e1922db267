// The interface through which commands start a capture, read its bytes and end it. The implementation decides how a
// collector is started (in embedded.cc: as a process of its own).
//
// One stream is one capture. Single-threaded. The destructors end what is still running, in bounded time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "client/remote/remote_daemon.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class CaptureClient;

class CaptureStream {
 public:
  struct Chunk {
    size_t size = 0;     // 0 and not ended: no bytes came in time, or a signal arrived
    bool ended = false;  // no more bytes will come
  };

  virtual ~CaptureStream() = default;
  virtual Result<Chunk> Read(std::span<std::byte> buffer, Nanos timeout) = 0;
  // Messages about the capture that are new since the last call; the trace may have them too.
  virtual std::vector<std::string> TakeNotices() { return {}; }
  virtual void Stop() = 0;  // ends the capture cleanly: the rest of the trace follows
  virtual void Kill() = 0;
  // Call after the end of the bytes. kInternal if the collector did not end cleanly (crashed, was killed).
  virtual Result<void> Finish() = 0;

  // For a capture that launched a command.
  virtual Pid command() const = 0;
  virtual void SignalCommand(int signal) = 0;
  // The wait(2) status of the command, once it has ended; only after Finish().
  virtual Result<std::optional<int>> WaitCommand(Nanos timeout) = 0;
};

class SampleSource;

class CaptureBackend {
 public:
  virtual ~CaptureBackend() = default;
  // With a command, `request.pid` is ignored: the command becomes the target.
  virtual Result<std::unique_ptr<CaptureStream>> Start(const CaptureTask& request,
                                                       const std::vector<std::string>& command) = 0;
  // While a recording starts, `has_enough` is called now and then. If it returns true: kCancelled.
  virtual void GiveUpWhen(const std::function<bool()>& /*has_enough*/) {}
  // Live samples, one batch per `interval`; nothing is stored.
  virtual Result<std::unique_ptr<SampleSource>> StartSamples(const CaptureTask& request, Nanos interval) = 0;
  // Whether process IDs are those of this machine. Known once something was started.
  virtual bool is_of_this_machine() const { return true; }
  // The captures that outlive this process; valid as long as this object. kUnavailable: no daemon keeps captures.
  virtual Result<CaptureClient*> Captures() {
    return Because(Reason::kNoDaemon, "captures need a running ptrace-profd, and none is in use",
                   "start ptrace-profd, or give its address with --host ADDRESS");
  }
  // The daemon's description of itself.
  virtual Result<RemoteDaemon> Daemon() {
    return Because(Reason::kNoDaemon, "this needs a running ptrace-profd, and none is in use",
                   "start ptrace-profd, or give its address with --host ADDRESS");
  }
};

}  // namespace ptrace_prof
