#include "client/remote/capture_client.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/channel.h>

#include <array>
#include <chrono>

#include "client/remote/spec_message.h"
#include "client/remote/trace_fetch.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "rpc/status.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

constexpr int kPage = 1000;
constexpr std::chrono::seconds kPatience(15);

struct StateRow {
  v1::State message;
  RemoteState state;
};
constexpr std::array<StateRow, 7> kStates = {{{v1::STATE_PENDING, RemoteState::kPending},
                                              {v1::STATE_ARMED, RemoteState::kArmed},
                                              {v1::STATE_RUNNING, RemoteState::kRunning},
                                              {v1::STATE_DRAINING, RemoteState::kDraining},
                                              {v1::STATE_SUCCEEDED, RemoteState::kSucceeded},
                                              {v1::STATE_FAILED, RemoteState::kFailed},
                                              {v1::STATE_CANCELLED, RemoteState::kCancelled}}};

RemoteState StateOf(v1::State message) {
  for (const StateRow& row : kStates) {
    if (row.message == message) {
      return row.state;
    }
  }
  return RemoteState::kPending;
}

RemoteCapture CaptureOf(const v1::Capture& message) {
  RemoteCapture capture;
  capture.name = message.name();
  capture.state = StateOf(message.state());
  capture.pid = Pid(message.spec().target().pid());
  capture.owner = Uid(message.owner_uid());
  capture.keep = message.spec().keep();
  capture.duration = Nanos(TimeUtil::DurationToNanoseconds(message.spec().duration()));
  capture.created = Nanos(TimeUtil::TimestampToNanoseconds(message.create_time()));
  capture.started = Nanos(TimeUtil::TimestampToNanoseconds(message.start_time()));
  capture.ended = Nanos(TimeUtil::TimestampToNanoseconds(message.end_time()));
  capture.trace_bytes = message.trace_bytes();
  capture.samples = message.totals().samples();
  capture.truncated = message.totals().truncated();
  capture.lost = message.totals().lost();
  capture.processes = message.totals().processes();
  capture.threads = message.totals().threads();
  capture.end_message = message.end_message();
  if (message.has_error()) {
    capture.error = FromStatus(message.error());
  }
  return capture;
}

// A call that is answered once, within kPatience.
template <typename Response, typename Call>
Result<Response> Ask(const Call& call) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  Response response;
  if (const grpc::Status status = call(&context, &response); !status.ok()) {
    return FromStatus(status);
  }
  return response;
}

class RpcCaptureClient : public CaptureClient {
 public:
  explicit RpcCaptureClient(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::CaptureService::NewStub(channel)) {}

  Result<RemoteCapture> Create(const CaptureRequest& request) override {
    v1::CreateCaptureRequest message;
    FillSpec(request, message.mutable_spec());
    message.mutable_spec()->set_keep(true);
    if (!request.wait_for_python) {  // a target that is none would else be found out when we are gone
      message.set_validate_only(true);
      const auto could = Ask<v1::Capture>(
          [&](auto* context, auto* response) { return stub_->CreateCapture(context, message, response); });
      if (could.has_error()) {
        return could.error();
      }
      message.set_validate_only(false);
    }
    return One([&](auto* context, auto* response) { return stub_->CreateCapture(context, message, response); });
  }

  Result<std::vector<RemoteCapture>> List() override {
    std::vector<RemoteCapture> captures;
    v1::ListCapturesRequest page;
    page.set_page_size(kPage);
    do {
      PP_ASSIGN_OR_RETURN(const auto response, Ask<v1::ListCapturesResponse>([&](auto* context, auto* answer) {
                            return stub_->ListCaptures(context, page, answer);
                          }));
      for (const v1::Capture& message : response.captures()) {
        captures.push_back(CaptureOf(message));
      }
      page.set_page_token(response.next_page_token());
    } while (!page.page_token().empty());
    return captures;
  }

  Result<RemoteCapture> Get(const std::string& name) override {
    v1::GetCaptureRequest message;
    message.set_name(name);
    return One([&](auto* context, auto* response) { return stub_->GetCapture(context, message, response); });
  }

  Result<void> Watch(const std::string& name, const std::function<bool(const RemoteCapture&)>& show) override {
    v1::WatchCaptureRequest message;
    message.set_name(name);
    grpc::ClientContext context;
    const auto reader = stub_->WatchCapture(&context, message);
    v1::CaptureEvent event;
    while (reader->Read(&event)) {
      if (!show(CaptureOf(event.capture()))) {
        context.TryCancel();
        (void)reader->Finish();
        return {};
      }
    }
    const grpc::Status status = reader->Finish();
    return status.ok() ? Result<void>() : FromStatus(status);
  }

  Result<RemoteCapture> Cancel(const std::string& name) override {
    v1::CancelCaptureRequest message;
    message.set_name(name);
    return One([&](auto* context, auto* response) { return stub_->CancelCapture(context, message, response); });
  }

  Result<void> Delete(const std::string& name, DeleteMode mode) override {
    v1::DeleteCaptureRequest message;
    message.set_name(name);
    message.set_force(mode == DeleteMode::kForce);
    const auto answer = Ask<google::protobuf::Empty>(
        [&](auto* context, auto* response) { return stub_->DeleteCapture(context, message, response); });
    return answer.has_error() ? Result<void>(answer.error()) : Result<void>();
  }

  std::unique_ptr<CaptureStream> Fetch(const std::string& name, FetchMode mode) override {
    return std::make_unique<TraceFetch>(*stub_, name, mode);
  }

 private:
  template <typename Call>
  static Result<RemoteCapture> One(const Call& call) {
    PP_ASSIGN_OR_RETURN(const auto response, Ask<v1::Capture>(call));
    return CaptureOf(response);
  }

  const std::unique_ptr<v1::CaptureService::Stub> stub_;
};

}  // namespace

std::unique_ptr<CaptureClient> MakeCaptureClient(const std::shared_ptr<grpc::Channel>& channel) {
  return std::make_unique<RpcCaptureClient>(channel);
}

}  // namespace ptrace_prof
