// How the terminal gets a capture: asks for one, reads its bytes, ends it. Whoever implements this knows how a
// collector is started (today embedded.cc, in a process of its own); the commands know only this.
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
    size_t size = 0;     // 0 and not ended: nothing came within the time, or a signal arrived
    bool ended = false;  // no more bytes will come
  };

  virtual ~CaptureStream() = default;
  virtual Result<Chunk> Read(std::span<std::byte> buffer, Nanos timeout) = 0;
  // What is to be said of the capture by whoever carries it out, new since the last time; it may be in the trace, too.
  virtual std::vector<std::string> TakeNotices() { return {}; }
  virtual void Stop() = 0;  // end the capture well: the rest of the trace follows
  virtual void Kill() = 0;
  // After the end of the bytes: kInternal when the collector did not end well (crashed, was killed).
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
  // With a command, `request.pid` does not matter: the command becomes the target.
  virtual Result<std::unique_ptr<CaptureStream>> Start(const CaptureTask& request,
                                                       const std::vector<std::string>& command) = 0;
  // While a recording's beginning is waited for, `has_enough` is asked now and then: kCancelled where it says so.
  virtual void GiveUpWhen(const std::function<bool()>& /*has_enough*/) {}
  // Samples to look at while they are taken, a batch for each `interval`; nothing is kept.
  virtual Result<std::unique_ptr<SampleSource>> StartSamples(const CaptureTask& request, Nanos interval) = 0;
  // Whether process ids mean processes of this machine. Known once something was started.
  virtual bool is_of_this_machine() const { return true; }
  // The captures that live longer than we do, valid as long as this object. kUnavailable: nobody is there to keep them.
  virtual Result<CaptureClient*> Captures() {
    return Because(Reason::kNoDaemon, "only a daemon keeps captures, and none is asked here",
                   "start ptrace-profd, or say with --host ADDRESS where one answers");
  }
  // The daemon itself.
  virtual Result<RemoteDaemon> Daemon() {
    return Because(Reason::kNoDaemon, "no daemon is asked here",
                   "start ptrace-profd, or say with --host ADDRESS where one answers");
  }
};

}  // namespace ptrace_prof
