// Live samples out of a capture of our own: reads its stream as it grows and cuts it into batches.
//
// Owns the CaptureStream; its destructor ends it. Single-threaded.
#pragma once

#include <memory>
#include <vector>

#include "client/remote/capture_backend.h"
#include "client/cli/sample_source.h"
#include "daemon/trace/sample_batcher.h"

namespace ptrace_prof {

class CaptureSampleSource : public SampleSource {
 public:
  // `interval`: how much time a batch spans.
  CaptureSampleSource(std::unique_ptr<CaptureStream> stream, Nanos interval);

  Result<std::optional<SampleBatch>> Next(Nanos timeout) override;
  bool ended() const override { return state_ == State::kEnded; }
  void Stop() override { stream_->Stop(); }
  const std::optional<EndInfo>& end() const override { return batcher_.end(); }

 private:
  // kReading → kLast (the bytes ended: one batch is left) → kEnded
  enum class State : uint8_t { kReading, kLast, kEnded };

  Result<void> Read(Nanos timeout);

  std::unique_ptr<CaptureStream> stream_;
  const Nanos interval_;
  SampleBatcher batcher_;
  std::vector<std::byte> buffer_;
  Nanos next_;
  State state_ = State::kReading;
};

}  // namespace ptrace_prof
