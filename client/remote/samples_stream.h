// One call of StreamSamples as a SampleSource.
//
// At most one batch is buffered: for a slow reader the server merges intervals. The destructor cancels the call and
// waits for its end.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/client_callback.h>

#include <condition_variable>
#include <mutex>

#include "client/remote/batch_message.h"
#include "client/remote/sample_source.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"

namespace ptrace_prof {

class SamplesStream : public SampleSource, private grpc::ClientReadReactor<ptraceprof::v1::SampleBatch> {
 public:
  SamplesStream(ptraceprof::v1::CaptureService::Stub& stub, ptraceprof::v1::StreamSamplesRequest request);
  ~SamplesStream() override;

  Result<std::optional<SampleBatch>> Next(Nanos timeout) override;
  bool ended() const override { return has_ended_; }
  void Stop() override;
  const std::optional<EndInfo>& end() const override { return end_; }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void StartReadLocked();
  std::optional<SampleBatch> TakeLocked();  // nothing: the rest of the batch is still to come

  const ptraceprof::v1::StreamSamplesRequest request_;
  grpc::ClientContext context_;
  ptraceprof::v1::SampleBatch message_;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_reading_ = false;
  bool has_message_ = false;
  bool is_over_ = false;  // no further read may begin
  bool is_done_ = false;
  bool is_stopped_ = false;
  std::optional<Error> failure_;

  // Only on the reader's thread.
  BatchAssembly assembly_;
  bool has_ended_ = false;
  std::optional<EndInfo> end_;
};

}  // namespace ptrace_prof
