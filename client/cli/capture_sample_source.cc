#include "client/cli/capture_sample_source.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr size_t kBufferSize = 256 * 1024;

}  // namespace

CaptureSampleSource::CaptureSampleSource(std::unique_ptr<CaptureStream> stream, Nanos interval)
    : stream_(std::move(stream)), interval_(interval), buffer_(kBufferSize), next_(MonotonicNow() + interval) {}

Result<std::optional<SampleBatch>> CaptureSampleSource::Next(Nanos timeout) {
  const Nanos deadline = MonotonicNow() + timeout;
  while (state_ == State::kReading) {
    const Nanos now = MonotonicNow();
    if (now >= next_ && batcher_.any_process()) {
      next_ = now + interval_;
      return std::optional(batcher_.Take(now));
    }
    if (now >= deadline) {
      return std::optional<SampleBatch>();
    }
    const Nanos until = now >= next_ ? deadline : std::min(deadline, next_);
    if (auto read = Read(std::max(until - now, Nanos::FromMillis(1))); read.has_error()) {
      state_ = State::kEnded;
      return std::move(read).error();
    }
  }
  if (state_ == State::kEnded) {
    return std::optional<SampleBatch>();
  }
  if (next_.value != 0) {
    next_ = {};
    return std::optional(batcher_.Take(MonotonicNow()));
  }
  state_ = State::kEnded;
  PP_RETURN_IF_ERROR(stream_->Finish());
  return std::optional<SampleBatch>();
}

Result<void> CaptureSampleSource::Read(Nanos timeout) {
  PP_ASSIGN_OR_RETURN(const CaptureStream::Chunk chunk, stream_->Read(buffer_, timeout));
  if (chunk.ended) {
    state_ = State::kLast;
  }
  return batcher_.Feed(std::span(buffer_).first(chunk.size));
}

}  // namespace ptrace_prof
