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

// Implements a call by the call of that name of the caller's service; its request has the call's name too.
#define PP_HAND_ON(of, Method, Answer)                                             \
  Unary* Method(Context* c, const v1::Method##Request* in, Answer* out) override { \
    return HandOn(route_, of, &Target::Method, Of(c, __func__), in, out);          \
  }
#define PP_HAND_ON_STREAM(Method, Message)                                                        \
  grpc::ServerWriteReactor<Message>* Method(Context* c, const v1::Method##Request* in) override { \
    return HandOnStream<Message>(route_, &Target::Method, Of(c, __func__), in);                   \
  }

}  // namespace

class RoutedCaptures : public v1::CaptureService::CallbackService {
 public:
  explicit RoutedCaptures(const ProfilerRoute& route) : route_(route) {}

  PP_HAND_ON(Captures, ListProcesses, v1::ListProcessesResponse)
  PP_HAND_ON(Captures, DumpStacks, v1::DumpStacksResponse)
  PP_HAND_ON(Captures, CreateCapture, v1::Capture)
  PP_HAND_ON(Captures, GetCapture, v1::Capture)
  PP_HAND_ON(Captures, ListCaptures, v1::ListCapturesResponse)
  PP_HAND_ON(Captures, CancelCapture, v1::Capture)
  PP_HAND_ON(Captures, DeleteCapture, google::protobuf::Empty)
  PP_HAND_ON_STREAM(WatchCapture, v1::CaptureEvent)
  PP_HAND_ON_STREAM(ReadTrace, v1::TraceChunk)
  PP_HAND_ON_STREAM(Record, v1::RecordEvent)
  PP_HAND_ON_STREAM(StreamSamples, v1::SampleBatch)

 private:
  using Target = CaptureServiceImpl;
  static Call Of(Context* c, const char* method) { return {c, v1::CaptureService::service_full_name(), method}; }

  const ProfilerRoute& route_;
};

class RoutedNode : public v1::NodeService::CallbackService {
 public:
  explicit RoutedNode(const ProfilerRoute& route) : route_(route) {}

  PP_HAND_ON(Node, GetNode, v1::Node)
  PP_HAND_ON(Node, GetDaemonStatus, v1::DaemonStatus)

 private:
  using Target = NodeServiceImpl;
  static Call Of(Context* c, const char* method) { return {c, v1::NodeService::service_full_name(), method}; }

  const ProfilerRoute& route_;
};

#undef PP_HAND_ON
#undef PP_HAND_ON_STREAM

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
