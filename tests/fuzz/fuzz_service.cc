// Any bytes as the request of any call, over a channel, to the whole service; collectors are played, no process is
// started. Every call ends, with an answer or an error that says what is wrong, and never with one of the server's own.
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/service/profiler_service.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/in_process_server.h"
#include "rpc/status.h"
#include "tests/unit/daemon_session_fake_collector.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

struct World {
  World() {
    starter.end_at_once = true;
    CaptureRegistry::Creation creation{.id = "c", .owner_uid = ::getuid(), .keep = true};
    creation.request.pid = Pid(7);
    Require(captures.Create(creation, starter).has_value());
  }
  FakeStarter starter;
  CaptureRegistry captures{"/tmp", {.kept_per_user = 8}};
  ProfilerService service{{.uid = ::getuid(), .gid = ::getgid(), .groups = {}, .pid = {}}, captures, starter};
  InProcessServer server{service.services()};
  std::unique_ptr<v1::CaptureService::Stub> stub = v1::CaptureService::NewStub(server.Connect());
  std::unique_ptr<v1::NodeService::Stub> node = v1::NodeService::NewStub(server.Connect());
};

World& Here() {
  static World* const world = new World;  // as long as the process: gRPC's threads may use it
  return *world;
}

void Check(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return;
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED: std::abort();
    default: Require(!status.error_message().empty() && !ReasonOf(status).empty());
  }
}

void Prepare(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(8));
}

template <auto Method, typename Request, typename Response, typename Stub>
void Unary(Stub& stub, const std::string& bytes) {
  Request request;
  if (request.ParseFromString(bytes)) {
    grpc::ClientContext context;
    Prepare(context);
    Response response;
    Check((stub.*Method)(&context, request, &response));
  }
}

template <auto Method, typename Request, typename Response, typename Stub>
void Streaming(Stub& stub, const std::string& bytes) {
  Request request;
  if (request.ParseFromString(bytes)) {
    grpc::ClientContext context;
    Prepare(context);
    const auto stream = (stub.*Method)(&context, request);
    Response response;
    while (stream->Read(&response)) {
    }
    Check(stream->Finish());
  }
}

using Captures = v1::CaptureService::Stub;
using Node = v1::NodeService::Stub;

void Call(uint8_t method, const std::string& bytes) {
  Captures& stub = *Here().stub;
  switch (method % 12) {
    case 0: return Unary<&Captures::ListProcesses, v1::ListProcessesRequest, v1::ListProcessesResponse>(stub, bytes);
    case 1: return Unary<&Captures::DumpStacks, v1::DumpStacksRequest, v1::DumpStacksResponse>(stub, bytes);
    case 2: return Unary<&Captures::CreateCapture, v1::CreateCaptureRequest, v1::Capture>(stub, bytes);
    case 3: return Unary<&Captures::GetCapture, v1::GetCaptureRequest, v1::Capture>(stub, bytes);
    case 4: return Unary<&Captures::ListCaptures, v1::ListCapturesRequest, v1::ListCapturesResponse>(stub, bytes);
    case 5: return Unary<&Captures::CancelCapture, v1::CancelCaptureRequest, v1::Capture>(stub, bytes);
    case 6: return Unary<&Captures::DeleteCapture, v1::DeleteCaptureRequest, google::protobuf::Empty>(stub, bytes);
    case 7: return Streaming<&Captures::WatchCapture, v1::WatchCaptureRequest, v1::CaptureEvent>(stub, bytes);
    case 8: return Streaming<&Captures::ReadTrace, v1::ReadTraceRequest, v1::TraceChunk>(stub, bytes);
    case 9: return Streaming<&Captures::Record, v1::RecordRequest, v1::RecordEvent>(stub, bytes);
    case 10: return Streaming<&Captures::StreamSamples, v1::StreamSamplesRequest, v1::SampleBatch>(stub, bytes);
    default: return Unary<&Node::GetNode, v1::GetNodeRequest, v1::Node>(*Here().node, bytes);
  }
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) {
    ptrace_prof::Call(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
    ptrace_prof::Here().starter.Forget();
  }
  return 0;
}
