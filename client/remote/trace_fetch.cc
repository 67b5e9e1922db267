#include "client/remote/trace_fetch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "attach/base/started_thread.h"
#include "client/remote/retries.h"
#include "rpc/connection/crc32c.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kChunkBytes = 1 << 20;

// The transport failed, not the request.
bool IsWorthAnotherTry(Code code) { return code == Code::kUnavailable || code == Code::kDataLoss; }

}  // namespace

TraceFetch::TraceFetch(v1::CaptureService::Stub& stub, std::string name, FetchMode mode)
    : stub_(stub), name_(std::move(name)), mode_(mode) {
  auto thread = StartThread([this] { Run(); });
  if (thread.has_error()) {
    error_ = std::move(thread).error();
    is_done_ = true;
  } else {
    thread_ = std::move(thread).value();
  }
}

TraceFetch::~TraceFetch() {
  Stop();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void TraceFetch::Run() {
  for (Retries retries;;) {
    const uint64_t before = offset_;
    auto read = ReadOnce();
    if (offset_ > before) {
      retries.Succeeded();
    }
    const bool is_over = read.has_value() || !IsWorthAnotherTry(read.error().code);
    const std::optional<Nanos> pause = is_over ? std::nullopt : retries.Next();
    if (!pause.has_value() || !Pause(*pause)) {
      const std::lock_guard lock(mutex_);
      if (read.has_error() && !is_stopped_) {
        error_ = std::move(read).error();
      }
      is_done_ = true;
      changed_.notify_all();
      return;
    }
  }
}

Result<void> TraceFetch::ReadOnce() {
  v1::ReadTraceRequest request;
  request.set_name(name_);
  request.set_offset(offset_);
  request.set_max_chunk_bytes(kChunkBytes);
  request.set_follow(mode_ == FetchMode::kFollow);
  grpc::ClientContext* context = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) {
      return {};
    }
    context_ = std::make_unique<grpc::ClientContext>();
    context = context_.get();
  }
  const auto reader = stub_.ReadTrace(context, request);
  v1::TraceChunk chunk;
  Result<void> good;
  bool was_last = false;
  while (reader->Read(&chunk)) {
    good = Check(chunk);
    was_last = chunk.last();
    const size_t size = chunk.data().size();
    if (good.has_error() || !Deliver(std::move(*chunk.mutable_data()))) {
      context->TryCancel();
      break;
    }
    offset_ += size;
  }
  const grpc::Status status = reader->Finish();
  if (good.has_error() || was_last) {
    return good;
  }
  if (!status.ok()) {
    return FromStatus(status);
  }
  return mode_ == FetchMode::kUntilNow ? Result<void>()
                                       : Error{Code::kDataLoss, "the trace broke off before the end of its capture",
                                               "fetch it again: the daemon keeps the trace"};
}

Result<void> TraceFetch::Check(const v1::TraceChunk& chunk) const {
  if (chunk.offset() == offset_ && Crc32c(chunk.data()) == chunk.crc32c()) {
    return {};
  }
  return Error{Code::kDataLoss,
               fmt::format("a chunk of the trace arrived damaged or out of order (at byte {})", offset_),
               "fetch it again: the daemon keeps the trace"};
}

bool TraceFetch::Deliver(std::string data) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return is_stopped_ || taken_ == data_.size(); });
  if (is_stopped_) {
    return false;
  }
  data_ = std::move(data);
  taken_ = 0;
  changed_.notify_all();
  return true;
}

bool TraceFetch::Pause(Nanos time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, std::chrono::nanoseconds(time.value), [&] { return is_stopped_; });
}

Result<CaptureStream::Chunk> TraceFetch::Read(std::span<std::byte> buffer, Nanos timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(timeout.value), [&] { return is_done_ || taken_ < data_.size(); });
  const size_t size = std::min(buffer.size(), data_.size() - taken_);
  if (size == 0) {
    return Chunk{.size = 0, .ended = is_done_};
  }
  std::memcpy(buffer.data(), data_.data() + taken_, size);
  taken_ += size;
  if (taken_ == data_.size()) {
    changed_.notify_all();
  }
  return Chunk{.size = size, .ended = false};
}

void TraceFetch::Stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  if (context_ != nullptr) {
    context_->TryCancel();
  }
  changed_.notify_all();
}

Result<void> TraceFetch::Finish() {
  const std::lock_guard lock(mutex_);
  return error_.has_value() ? Result<void>(*error_) : Result<void>();
}

}  // namespace ptrace_prof
