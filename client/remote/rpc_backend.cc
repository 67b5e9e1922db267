#include "client/remote/rpc_backend.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/channel.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "client/remote/capture_client.h"
#include "client/remote/daemon_question.h"
#include "client/remote/inspection_trace.h"
#include "client/remote/record_stream.h"
#include "client/remote/samples_stream.h"
#include "rpc/connection/status.h"
#include "rpc/messages/task_from_message.h"

namespace ptrace_prof {
namespace {

constexpr std::chrono::seconds kDumpPatience(30);

// A trace that arrived as a whole.
class WholeTrace : public CaptureStream {
 public:
  explicit WholeTrace(std::string trace) : trace_(std::move(trace)) {}
  Result<Chunk> Read(std::span<std::byte> buffer, Nanos) override {
    const size_t size = std::min(buffer.size(), trace_.size() - taken_);
    std::memcpy(buffer.data(), trace_.data() + taken_, size);
    taken_ += size;
    return Chunk{.size = size, .ended = size == 0};
  }
  void Stop() override {}
  void Kill() override {}
  Result<void> Finish() override { return {}; }
  Pid command() const override { return {}; }
  void SignalCommand(int) override {}
  Result<std::optional<int>> WaitCommand(Nanos) override { return std::optional<int>(); }

 private:
  const std::string trace_;
  size_t taken_ = 0;
};

class RpcBackend : public CaptureBackend {
 public:
  explicit RpcBackend(const std::shared_ptr<grpc::Channel>& channel)
      : captures_(v1::CaptureService::NewStub(channel)),
        node_(v1::NodeService::NewStub(channel)),
        client_(MakeCaptureClient(channel)) {}

  Result<std::unique_ptr<CaptureStream>> Start(const CaptureTask& request,
                                               const std::vector<std::string>& command) override {
    if (!command.empty()) {
      return Error{Code::kInvalidArgument, "a daemon cannot start a command for you",
                   "leave out --host to record the command without a daemon; or start it yourself, and give its --pid"};
    }
    switch (request.verb()) {
      case CaptureTask::RECORD: return Record(request);
      case CaptureTask::DUMP: return Dump(request);
      case CaptureTask::LIST: return Whole(ListAsTrace(*captures_, request));
      case CaptureTask::DOCTOR: return Whole(DiagnosisAsTrace(*node_, request));
      default: break;
    }
    return Error{Code::kUnimplemented, "a daemon does not support this request", ""};
  }

  void GiveUpWhen(const std::function<bool()>& has_enough) override { has_enough_ = has_enough; }

  Result<std::unique_ptr<SampleSource>> StartSamples(const CaptureTask& request, Nanos interval) override {
    v1::StreamSamplesRequest message;
    *message.mutable_spec() = request.spec();
    *message.mutable_interval() = google::protobuf::util::TimeUtil::NanosecondsToDuration(interval.value);
    return std::unique_ptr<SampleSource>(std::make_unique<SamplesStream>(*captures_, std::move(message)));
  }

  Result<CaptureClient*> Captures() override { return client_.get(); }
  Result<RemoteDaemon> Daemon() override { return AskDaemon(*node_); }

 private:
  Result<std::unique_ptr<CaptureStream>> Record(const CaptureTask& request) {
    v1::RecordRequest message;
    *message.mutable_spec() = request.spec();
    auto stream = std::make_unique<RecordStream>(*captures_, std::move(message));
    PP_RETURN_IF_ERROR(stream->AwaitStart(has_enough_));
    return std::unique_ptr<CaptureStream>(std::move(stream));
  }

  Result<std::unique_ptr<CaptureStream>> Dump(const CaptureTask& request) {
    const v1::DumpStacksRequest message = DumpRequestOf(request);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kDumpPatience);
    v1::DumpStacksResponse response;
    if (const grpc::Status status = captures_->DumpStacks(&context, message, &response); !status.ok()) {
      return FromStatus(status);
    }
    return std::unique_ptr<CaptureStream>(std::make_unique<WholeTrace>(std::move(*response.mutable_trace())));
  }

  static Result<std::unique_ptr<CaptureStream>> Whole(Result<std::string> trace) {
    PP_ASSIGN_OR_RETURN(std::string bytes, std::move(trace));
    return std::unique_ptr<CaptureStream>(std::make_unique<WholeTrace>(std::move(bytes)));
  }

  const std::unique_ptr<v1::CaptureService::Stub> captures_;
  const std::unique_ptr<v1::NodeService::Stub> node_;
  const std::unique_ptr<CaptureClient> client_;
  std::function<bool()> has_enough_ = [] { return false; };
};

}  // namespace

std::unique_ptr<CaptureBackend> MakeRpcBackend(const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<RpcBackend>(channel);
}

}  // namespace ptrace_prof
