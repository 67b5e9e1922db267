#include "client/remote/capture_client.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>
#include <grpcpp/channel.h>
#include <sys/random.h>

#include <chrono>
#include <optional>
#include <thread>

#include "client/remote/call_limits.h"
#include "client/remote/retries.h"
#include "client/remote/state_message.h"
#include "client/remote/trace_fetch.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

using google::protobuf::util::TimeUtil;

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
  capture.torn = message.totals().torn();
  capture.lost = message.totals().lost();
  capture.processes = message.totals().processes();
  capture.threads = message.totals().threads();
  if (message.mode() == v1::MODE_SAMPLE || message.mode() == v1::MODE_TRACE) {
    capture.mode = message.mode() == v1::MODE_TRACE ? v1::MODE_TRACE : v1::MODE_SAMPLE;
  }
  capture.sampled_because = message.sampled_because();
  capture.end_message = message.end_message();
  capture.notices.assign(message.notices().begin(), message.notices().end());
  if (message.has_error()) {
    capture.error = FromStatus(message.error());
  }
  return capture;
}

// Unguessable and unique.
std::string NewRequestId() {
  uint64_t random[2] = {};
  if (::getrandom(random, sizeof random, 0) != sizeof random) {
    return {};  // none: then a retry is not protected
  }
  return fmt::format("cli-{:016x}{:016x}", random[0], random[1]);
}

void Sleep(Nanos time) { std::this_thread::sleep_for(std::chrono::nanoseconds(time.value)); }

Error StaysAway(const grpc::Status& status) {
  return Because(Reason::kServerUnreachable, "the daemon is still unreachable: " + ReasonOfTheWay(status),
                 "check that the daemon is running, and try again; the capture continues unless the daemon has ended");
}

Error IsAnother(const std::string& name) {
  return Error{Code::kNotFound,
               fmt::format("capture {} is gone: its daemon has ended, and another daemon answers now",
                           name.substr(name.rfind('/') + 1)),
               "record again; a daemon's captures and traces are deleted when it ends"};
}

// A call with a single response, within kCallDeadline.
template <typename Response, typename Call>
grpc::Status AskOnce(const Call& call, Response* response) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallDeadline);
  return call(&context, response);
}

template <typename Response, typename Call>
Result<Response> Ask(const Call& call) {
  Response response;
  const grpc::Status status = AskOnce(call, &response);
  return status.ok() ? Result<Response>(std::move(response)) : FromStatus(status);
}

// Retries while the connection breaks. Only for calls that may be made twice.
template <typename Response, typename Call>
Result<Response> AskPatiently(const Call& call) {
  for (Retries retries;;) {
    Response response;
    const grpc::Status status = AskOnce(call, &response);
    if (status.ok()) {
      return response;
    }
    const std::optional<Nanos> pause = IsOfTheWay(status) ? retries.Next() : std::nullopt;
    if (!pause.has_value()) {
      return FromStatus(status);
    }
    Sleep(*pause);
  }
}

class RpcCaptureClient : public CaptureClient {
 public:
  explicit RpcCaptureClient(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::CaptureService::NewStub(channel)) {}

  Result<RemoteCapture> Create(const CaptureTask& request) override {
    v1::CreateCaptureRequest message;
    *message.mutable_spec() = request.spec();
    message.mutable_spec()->set_keep(true);
    message.set_request_id(NewRequestId());
    const auto create = [&](auto* context, auto* response) { return stub_->CreateCapture(context, message, response); };
    if (!request.spec().sample().wait_for_python()) {  // find an unsuitable target now, not after our end
      message.set_validate_only(true);
      PP_ASSIGN_OR_RETURN(const auto could, AskPatiently<v1::Capture>(create));
      (void)could;
      message.set_validate_only(false);
    }
    PP_ASSIGN_OR_RETURN(const auto created, AskPatiently<v1::Capture>(create));
    return CaptureOf(created);
  }

  Result<std::vector<RemoteCapture>> List() override {
    std::vector<RemoteCapture> captures;
    v1::ListCapturesRequest page;
    page.set_page_size(kEntriesPerPage);
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

  Result<void> Watch(const std::string& name, const Show& show, const Lost& lost) override {
    bool was_lost = false;
    for (Retries retries;;) {
      const grpc::Status status = WatchOnce(name, [&](const RemoteCapture& capture) {
        retries.Succeeded();
        return show(capture);
      });
      if (!IsOfTheWay(status)) {
        const bool is_another = was_lost && status.error_code() == grpc::StatusCode::NOT_FOUND;
        return status.ok() ? Result<void>() : is_another ? IsAnother(name) : FromStatus(status);
      }
      const std::optional<Nanos> pause = retries.Next();
      if (!pause.has_value()) {
        return StaysAway(status);
      }
      was_lost = true;
      if (lost) {
        lost(ReasonOfTheWay(status), *pause);
      }
      Sleep(*pause);
    }
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
  grpc::Status WatchOnce(const std::string& name, const Show& show) {
    v1::WatchCaptureRequest message;
    message.set_name(name);
    grpc::ClientContext context;
    const auto reader = stub_->WatchCapture(&context, message);
    v1::CaptureEvent event;
    while (reader->Read(&event)) {
      if (!show(CaptureOf(event.capture()))) {
        context.TryCancel();
        (void)reader->Finish();
        return grpc::Status::OK;
      }
    }
    return reader->Finish();
  }

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
