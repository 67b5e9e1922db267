// Where live samples come from: batch after batch until the capture ends. Whoever implements this knows how samples are
// had (a stream of the service); what shows them knows only this.
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

  // The next batch: one for each interval even when nothing was sampled; without a process before the target was
  // opened. Nothing when none came within `timeout` or a signal arrived, and for good once ended(). An error is the
  // last word.
  virtual Result<std::optional<SampleBatch>> Next(Nanos timeout) = 0;
  virtual bool ended() const = 0;
  // Ends the capture; what was sampled until then may still come.
  virtual void Stop() = 0;
  // Why the capture ended, as the collector said it; nothing before, and when it was cut off.
  virtual const std::optional<EndInfo>& end() const = 0;
};

}  // namespace ptrace_prof
