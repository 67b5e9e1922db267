// One call of Record as a CaptureStream.
//
// At most one chunk is buffered, so a slow reader makes the server wait. Chunks are checked against their CRC and their
// offset. The destructor cancels the call and waits for its end.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "client/remote/capture_backend.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"

namespace ptrace_prof {

class RecordStream : public CaptureStream, private grpc::ClientReadReactor<ptraceprof::v1::RecordEvent> {
 public:
  RecordStream(ptraceprof::v1::CaptureService::Stub& stub, ptraceprof::v1::RecordRequest request);
  ~RecordStream() override;

  // Waits until the service reports that the capture exists, or its error. kCancelled: `has_enough`, which is called
  // meanwhile, returned true.
  Result<void> AwaitStart(const std::function<bool()>& has_enough);

  Result<Chunk> Read(std::span<std::byte> buffer, Nanos timeout) override;
  std::vector<std::string> TakeNotices() override;
  void Stop() override;
  void Kill() override;
  Result<void> Finish() override;
  Pid command() const override { return {}; }
  void SignalCommand(int) override {}
  Result<std::optional<int>> WaitCommand(Nanos) override { return std::optional<int>(); }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void StartReadLocked();
  Result<void> TakeChunk(ptraceprof::v1::TraceChunk& chunk);

  ptraceprof::v1::CaptureService::Stub& stub_;
  const ptraceprof::v1::RecordRequest request_;
  grpc::ClientContext context_;
  ptraceprof::v1::RecordEvent event_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string name_;                  // of the capture; empty until the service has sent it
  std::vector<std::string> notices_;  // not taken yet
  std::string data_;
  size_t taken_ = 0;  // bytes of data_
  uint64_t offset_ = 0;
  bool is_reading_ = false;
  bool is_over_ = false;  // no further read may begin
  bool is_done_ = false;
  bool is_killed_ = false;
  std::optional<Error> damage_;
  Error end_{Code::kOk, "", ""};
};

}  // namespace ptrace_prof
