#include "daemon/server/service/routed_profiler.h"

#include <fmt/format.h>

#include <iterator>
#include <string>

#include "daemon/server/service/capture_service.h"
#include "daemon/server/service/failed_call.h"
#include "daemon/server/service/node_service.h"
#include "daemon/server/service/profiler_service.h"
#include "rpc/connection/status.h"
#include "rpc/munge/munge_binding.h"

namespace ptrace_prof {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

// Empty: the key is missing, or appears more than once.
std::string Said(const Context& context, const char* key) {
  const auto [begin, end] = context.client_metadata().equal_range(key);
  return begin != end && std::next(begin) == end ? std::string(begin->second.data(), begin->second.size())
                                                 : std::string();
}

// A call of one of our methods, with its claims.
struct Call {
  Call(Context* context_of, const char* service, const char* method)
      : context(context_of),
        claims{.user = Said(*context_of, kUserMetadata),
               .authorization = Said(*context_of, kAuthorizationMetadata),
               .method = fmt::format("/{}/{}", service, method)} {}

  Context* const context;
  const CallClaims claims;
};

// Forwards the call to `method` of the service that `of` returns for the caller's profiler.
template <typename Of, typename Method, typename Request, typename Response>
Unary* HandOn(const ProfilerRoute& route, Of of, Method method, const Call& call, const Request* request,
              Response* response) {
  const auto profiler = route(call.claims);
  return profiler.has_error() ? FailedUnary(call.context, ToStatus(profiler.error()))
                              : (of(*profiler.value()).*method)(call.context, request, response);
}

template <typename Message, typename Method, typename Request>
grpc::ServerWriteReactor<Message>* HandOnStream(const ProfilerRoute& route, Method method, const Call& call,
                                                const Request* request) {
  const auto profiler = route(call.claims);
  return profiler.has_error() ? FailedCall<Message>(ToStatus(profiler.error()))
                              : (profiler.value()->captures().*method)(call.context, request);
}

CaptureServiceImpl& Captures(ProfilerService& profiler) { return profiler.captures(); }
NodeServiceImpl& Node(ProfilerService& profiler) { return profiler.node(); }

}  // namespace

class RoutedCaptures : public v1::CaptureService::CallbackService {
 public:
  explicit RoutedCaptures(const ProfilerRoute& route) : route_(route) {}

  Unary* ListProcesses(Context* c, const v1::ListProcessesRequest* in, v1::ListProcessesResponse* out) override {
    return HandOn(route_, Captures, &CaptureServiceImpl::ListProcesses, Of(c, __func__), in, out);
  }
  Unary* DumpStacks(Context* c, const v1::DumpStacksRequest* in, v1::DumpStacksResponse* out) override {
    return HandOn(route_, Captures, &CaptureServiceImpl::DumpStacks, Of(c, __func__), in, out);
  }
  Unary* CreateCapture(Context* c, const v1::CreateCaptureRequest* in, v1::Capture* out) override {
    return HandOn(route_, Captures, &CaptureServiceImpl::CreateCapture, Of(c, __func__), in, out);
  }
  Unary* GetCapture(Context* c, const v1::GetCaptureRequest* in, v1::Capture* out) override {
    return HandOn(route_, Captures, &CaptureServiceImpl::GetCapture, Of(c, __func__), in, out);
  }
  Unary* ListCaptures(Context* c, const v1::ListCapturesRequest* in, v1::ListCapturesResponse* out) override {
    return HandOn(route_, Captures, &CaptureServiceImpl::ListCaptures, Of(c, __func__), in, out);
  }
  Unary* CancelCapture(Context* c, const v1::CancelCaptureRequest* in, v1::Capture* out) override {
    return HandOn(route_, Captures, &CaptureServiceImpl::CancelCapture, Of(c, __func__), in, out);
  }
  Unary* DeleteCapture(Context* c, const v1::DeleteCaptureRequest* in, google::protobuf::Empty* out) override {
    return HandOn(route_, Captures, &CaptureServiceImpl::DeleteCapture, Of(c, __func__), in, out);
  }
  grpc::ServerWriteReactor<v1::CaptureEvent>* WatchCapture(Context* c, const v1::WatchCaptureRequest* in) override {
    return HandOnStream<v1::CaptureEvent>(route_, &CaptureServiceImpl::WatchCapture, Of(c, __func__), in);
  }
  grpc::ServerWriteReactor<v1::TraceChunk>* ReadTrace(Context* c, const v1::ReadTraceRequest* in) override {
    return HandOnStream<v1::TraceChunk>(route_, &CaptureServiceImpl::ReadTrace, Of(c, __func__), in);
  }
  grpc::ServerWriteReactor<v1::RecordEvent>* Record(Context* c, const v1::RecordRequest* in) override {
    return HandOnStream<v1::RecordEvent>(route_, &CaptureServiceImpl::Record, Of(c, __func__), in);
  }
  grpc::ServerWriteReactor<v1::SampleBatch>* StreamSamples(Context* c, const v1::StreamSamplesRequest* in) override {
    return HandOnStream<v1::SampleBatch>(route_, &CaptureServiceImpl::StreamSamples, Of(c, __func__), in);
  }

 private:
  static Call Of(Context* c, const char* method) { return {c, v1::CaptureService::service_full_name(), method}; }

  const ProfilerRoute& route_;
};

class RoutedNode : public v1::NodeService::CallbackService {
 public:
  explicit RoutedNode(const ProfilerRoute& route) : route_(route) {}

  Unary* GetNode(Context* c, const v1::GetNodeRequest* in, v1::Node* out) override {
    return HandOn(route_, Node, &NodeServiceImpl::GetNode, Of(c, __func__), in, out);
  }
  Unary* GetDaemonStatus(Context* c, const v1::GetDaemonStatusRequest* in, v1::DaemonStatus* out) override {
    return HandOn(route_, Node, &NodeServiceImpl::GetDaemonStatus, Of(c, __func__), in, out);
  }

 private:
  static Call Of(Context* c, const char* method) { return {c, v1::NodeService::service_full_name(), method}; }

  const ProfilerRoute& route_;
};

struct RoutedProfiler::Impl {
  explicit Impl(ProfilerRoute wanted) : route(std::move(wanted)), captures(route), node(route) {}

  const ProfilerRoute route;
  RoutedCaptures captures;
  RoutedNode node;
};

RoutedProfiler::RoutedProfiler(ProfilerRoute route) : impl_(std::make_unique<Impl>(std::move(route))) {}

RoutedProfiler::~RoutedProfiler() = default;

std::vector<grpc::Service*> RoutedProfiler::services() { return {&impl_->captures, &impl_->node}; }

}  // namespace ptrace_prof
