#include "client/remote/record_stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "rpc/connection/crc32c.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

constexpr std::chrono::seconds kCancelPatience(5);
constexpr std::chrono::seconds kStartPatience(30);
constexpr std::chrono::milliseconds kLookEvery(100);

}  // namespace

RecordStream::RecordStream(v1::CaptureService::Stub& stub, v1::RecordRequest request)
    : stub_(stub), request_(std::move(request)) {
  stub_.async()->Record(&context_, &request_, this);
  AddHold();  // because reads are started outside of the reactor
  {
    const std::lock_guard lock(mutex_);
    StartReadLocked();
  }
  StartCall();
}

RecordStream::~RecordStream() {
  context_.TryCancel();
  std::unique_lock lock(mutex_);
  if (!is_reading_ && !is_over_) {
    StartReadLocked();  // the read fails, which ends the call
  }
  changed_.wait(lock, [&] { return is_done_; });
}

void RecordStream::StartReadLocked() {
  is_reading_ = true;
  StartRead(&event_);
}

Result<void> RecordStream::TakeChunk(v1::TraceChunk& chunk) {
  if (chunk.offset() != offset_ || Crc32c(chunk.data()) != chunk.crc32c()) {
    return Error{Code::kDataLoss, "a chunk of the trace arrived damaged or out of order",
                 "what came before it is kept; try again"};
  }
  offset_ += chunk.data().size();
  data_ = std::move(*chunk.mutable_data());
  taken_ = 0;
  return {};
}

void RecordStream::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  is_reading_ = false;
  if (!ok) {
    is_over_ = true;
    RemoveHold();
    return;
  }
  if (event_.has_capture()) {
    name_ = event_.capture().name();
    notices_.assign(event_.capture().notices().begin(), event_.capture().notices().end());
  } else if (!damage_.has_value()) {
    if (auto taken = TakeChunk(*event_.mutable_chunk()); taken.has_error()) {
      damage_ = std::move(taken).error();
      context_.TryCancel();
    }
  }
  if (taken_ == data_.size()) {
    StartReadLocked();
  }
  changed_.notify_all();
}

void RecordStream::OnDone(const grpc::Status& status) {
  const std::lock_guard lock(mutex_);
  if (!status.ok()) {
    end_ = FromStatus(status);
  }
  is_done_ = true;
  changed_.notify_all();
}

Result<void> RecordStream::AwaitStart(const std::function<bool()>& has_enough) {
  const auto has_begun = [&] { return is_done_ || !name_.empty() || !data_.empty(); };
  const auto deadline = std::chrono::steady_clock::now() + kStartPatience;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLookEvery, has_begun)) {
    if (has_enough()) {
      return Error{Code::kCancelled, "aborted before ptrace-profd had begun the capture", "nothing was recorded"};
    }
    if (std::chrono::steady_clock::now() < deadline) {
      continue;
    }
    return Error{
        Code::kUnavailable, "ptrace-profd has not begun the capture within 30 s",
        "the machine may be overloaded, or ptrace-profd stopped; try again, or record without it: --host none"};
  }
  return name_.empty() && end_.code != Code::kOk ? Result<void>(end_) : Result<void>();
}

Result<CaptureStream::Chunk> RecordStream::Read(std::span<std::byte> buffer, Nanos timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(timeout.value), [&] { return is_done_ || taken_ < data_.size(); });
  const size_t size = std::min(buffer.size(), data_.size() - taken_);
  if (size == 0) {
    return damage_.has_value() ? Result<Chunk>(*damage_) : Result<Chunk>(Chunk{.size = 0, .ended = is_done_});
  }
  std::memcpy(buffer.data(), data_.data() + taken_, size);
  taken_ += size;
  if (taken_ == data_.size() && !is_reading_ && !is_over_) {
    StartReadLocked();
  }
  return Chunk{.size = size, .ended = false};
}

std::vector<std::string> RecordStream::TakeNotices() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

void RecordStream::Stop() {
  v1::CancelCaptureRequest request;
  {
    const std::lock_guard lock(mutex_);
    request.set_name(name_);
  }
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCancelPatience);
  v1::Capture ignored;
  if (request.name().empty() || !stub_.CancelCapture(&context, request, &ignored).ok()) {
    Kill();
  }
}

void RecordStream::Kill() {
  {
    const std::lock_guard lock(mutex_);
    is_killed_ = true;
  }
  context_.TryCancel();
}

// Only reports whether the transport was sound. The trace itself holds the errors of the target or the caller.
Result<void> RecordStream::Finish() {
  const std::lock_guard lock(mutex_);
  if (damage_.has_value()) {
    return *damage_;
  }
  if (end_.code == Code::kCancelled && is_killed_) {
    return Because(Reason::kCollectorFailed,
                   "the capture did not end in time and was abandoned: the end of its trace is missing",
                   "what was recorded until then is kept; the target is not affected");
  }
  const bool is_of_the_way = end_.code == Code::kInternal || end_.code == Code::kCancelled ||
                             end_.code == Code::kUnavailable || end_.code == Code::kResourceExhausted ||
                             (end_.code == Code::kDataLoss && end_.reason != Reason::kPythonDamaged);
  return is_of_the_way ? Result<void>(end_) : Result<void>();
}

}  // namespace ptrace_prof
