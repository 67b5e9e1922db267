#include "client/remote/samples_stream.h"

#include <chrono>

#include "rpc/connection/status.h"

namespace ptrace_prof {

SamplesStream::SamplesStream(ptraceprof::v1::CaptureService::Stub& stub, ptraceprof::v1::StreamSamplesRequest request)
    : request_(std::move(request)) {
  stub.async()->StreamSamples(&context_, &request_, this);
  AddHold();  // because reads are started outside of the reactor
  {
    const std::lock_guard lock(mutex_);
    StartReadLocked();
  }
  StartCall();
}

SamplesStream::~SamplesStream() {
  context_.TryCancel();
  std::unique_lock lock(mutex_);
  if (!is_reading_ && !is_over_) {
    StartReadLocked();  // the read fails, which ends the call
  }
  changed_.wait(lock, [&] { return is_done_; });
}

void SamplesStream::StartReadLocked() {
  is_reading_ = true;
  StartRead(&message_);
}

void SamplesStream::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  is_reading_ = false;
  has_message_ = ok;
  if (!ok) {
    is_over_ = true;
    RemoveHold();
  }
  changed_.notify_all();
}

void SamplesStream::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok() && !is_stopped_) {
    failure_ = FromStatus(status);
  }
  is_done_ = true;
  changed_.notify_all();
}

std::optional<SampleBatch> SamplesStream::TakeLocked() {
  std::optional<SampleBatch> batch = assembly_.Add(message_);
  if (message_.has_ended()) {
    end_ = EndOf(FromStatus(message_.ended()));
  }
  has_message_ = false;
  StartReadLocked();
  return batch;
}

Result<std::optional<SampleBatch>> SamplesStream::Next(Nanos timeout) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout.value);
  while (changed_.wait_until(lock, deadline, [&] { return has_message_ || is_done_; }) && has_message_) {
    if (auto batch = TakeLocked(); batch.has_value()) {
      return batch;
    }
  }
  has_ended_ = is_done_;
  // The last batch already says how the target ended.
  return is_done_ && failure_.has_value() && !end_.has_value() ? Result<std::optional<SampleBatch>>(*failure_)
                                                               : Result<std::optional<SampleBatch>>(std::nullopt);
}

void SamplesStream::Stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopped_ = true;
  }
  context_.TryCancel();
}

}  // namespace ptrace_prof
