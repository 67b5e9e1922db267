// The trace of a daemon's capture, as a CaptureStream.
//
// A thread of its own calls ReadTrace, at most one chunk ahead. Chunks are checked against their CRC and their offset.
// After a broken connection or a damaged chunk it resumes after the last good chunk, a few times in a row. Stop() and
// Kill() end the reading, not the capture. The destructor cancels the call and waits for the thread.
#pragma once

#include <grpcpp/client_context.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "client/remote/capture_client.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"

namespace ptrace_prof {

class TraceFetch : public CaptureStream {
 public:
  TraceFetch(ptraceprof::v1::CaptureService::Stub& stub, std::string name, FetchMode mode);
  ~TraceFetch() override;

  Result<Chunk> Read(std::span<std::byte> buffer, Nanos timeout) override;
  void Stop() override;
  void Kill() override { Stop(); }
  // An error if the trace is incomplete.
  Result<void> Finish() override;
  Pid command() const override { return {}; }
  void SignalCommand(int) override {}
  Result<std::optional<int>> WaitCommand(Nanos) override { return std::optional<int>(); }

 private:
  void Run();
  Result<void> ReadOnce();
  Result<void> Check(const ptraceprof::v1::TraceChunk& chunk) const;
  bool Deliver(std::string data);  // false: reading was stopped
  bool Pause(Nanos time);          // likewise

  ptraceprof::v1::CaptureService::Stub& stub_;
  const std::string name_;
  const FetchMode mode_;
  uint64_t offset_ = 0;  // only on the thread

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<grpc::ClientContext> context_;  // of the current call
  std::string data_;
  size_t taken_ = 0;  // bytes of data_
  bool is_stopped_ = false;
  bool is_done_ = false;
  std::optional<Error> error_;

  std::thread thread_;  // not running if it could not be started; error_ has the cause
};

}  // namespace ptrace_prof
