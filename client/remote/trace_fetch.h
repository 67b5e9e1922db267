// The trace of a capture of a daemon, as a CaptureStream.
//
// A thread of its own reads ReadTrace, one chunk ahead at most. Chunks are checked against their CRC and their place;
// after a broken connection or a damaged chunk it goes on from the end of the last good one, a few times in a row.
// Stop() and Kill() end the reading, not the capture. The destructor waits for the thread, which a cancelled call ends.
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
  // Why the trace is not whole, where it is not.
  Result<void> Finish() override;
  Pid command() const override { return {}; }
  void SignalCommand(int) override {}
  Result<std::optional<int>> WaitCommand(Nanos) override { return std::optional<int>(); }

 private:
  void Run();
  Result<void> ReadOnce();
  Result<void> Check(const ptraceprof::v1::TraceChunk& chunk) const;
  bool Deliver(std::string data);  // false: nobody wants more
  bool Pause(Nanos time);          // the same

  ptraceprof::v1::CaptureService::Stub& stub_;
  const std::string name_;
  const FetchMode mode_;
  uint64_t offset_ = 0;  // of the thread alone

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<grpc::ClientContext> context_;  // of the call that goes on
  std::string data_;
  size_t taken_ = 0;  // of data_
  bool is_stopped_ = false;
  bool is_done_ = false;
  std::optional<Error> error_;

  std::thread thread_;  // none where there was no thread to be had: error_ says so
};

}  // namespace ptrace_prof
