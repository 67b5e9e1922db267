// The interface for live samples: batch after batch until the capture ends. The implementation gets them from a stream
// of the service.
//
// One source is one capture. Single-threaded. The destructor ends what is still running, in bounded time.
#pragma once

#include <optional>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/model.h"
#include "daemon/trace/read/sample_batch.h"

namespace ptrace_prof {

class SampleSource {
 public:
  virtual ~SampleSource() = default;

  // The next batch: one per interval even if nothing was sampled; without a process until the target is open. Nothing
  // if no batch came within `timeout` or a signal arrived, and always once ended(). Nothing follows an error.
  virtual Result<std::optional<SampleBatch>> Next(Nanos timeout) = 0;
  virtual bool ended() const = 0;
  // Ends the capture; earlier samples may still arrive.
  virtual void Stop() = 0;
  // Why the capture ended, as the collector reported it. Nothing before the end, and if the stream broke.
  virtual const std::optional<EndInfo>& end() const = 0;
};

}  // namespace ptrace_prof
