// The interface of a running collector, and of its starter: this process itself (local_starter.h), or the daemon's
// launcher. A starter belongs to one caller. Each implementation documents its threads.
#pragma once

#include <memory>
#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class Collector {
 public:
  virtual ~Collector() = default;  // stops it, waits a bounded time, kills it

  virtual int stream_fd() const = 0;  // its trace; the collector owns the descriptor
  virtual void Stop() = 0;            // asks for a clean end: the rest of the trace follows
  virtual void Kill() = 0;
  // The number of captures that stop threads of this target. The collector uses only its part of their common limit.
  virtual void ShareStops(uint8_t captures) = 0;
  // Returns the wait(2) status once the collector has ended, or nothing after `timeout`.
  virtual std::optional<int> Wait(Nanos timeout) = 0;
  // After the end: why the collector's program never ran. Nothing: it did run, as far as is known.
  virtual std::optional<Error> WhyNotStarted() { return std::nullopt; }
  // After the end: its CPU time and its children's, as counted by the kernel. 0: not known.
  virtual Nanos cpu_time() const { return {}; }
  // The collector has ended; its capture succeeded, or failed with this error. For implementations that keep an audit.
  virtual void Concluded(const std::optional<Error>&) {}
};

class CollectorStarter {
 public:
  virtual ~CollectorStarter() = default;
  // Thread-safe.
  virtual Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) = 0;
};

}  // namespace ptrace_prof
