// Any bytes as the request of any call, over a channel, to the whole service; collectors are fakes, no process is
// started. Every call ends, with an answer or an error that says what is wrong, and never with an internal error of the
// server.
//
// The first byte chooses the call. Below 128 the rest is the request as on the wire. Otherwise the rest describes,
// field by field, a few requests in a row (made_message.h). At the end the fuzzer prints how often each call was
// answered and refused. A call that was never answered in a long run is a failure of this fuzzer.
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/server/service/profiler_service.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/connection/status.h"
#include "rpc/in_process_server.h"
#include "tests/fuzz/made_message.h"
#include "tests/unit/daemon/server/captures/fake_collector.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

struct World {
  World() { starter.end_at_once = true; }
  // Makes sure that there is a capture to ask for, whatever happened to the last one.
  void Renew() {
    CaptureRegistry::Creation creation{.id = "c", .owner = {::getuid()}};
    creation.request.mutable_spec()->set_keep(true);
    SetTarget(Pid(7), &creation.request);
    // A capture that was forced to end exists until its collector has ended.
    const auto is_there = [&] {
      return captures.Find("c", {::getuid()}).has_value() || captures.Create(creation, starter.access()).has_value();
    };
    for (const Nanos deadline = MonotonicNow() + Nanos::FromSeconds(60); !is_there();) {
      Require(MonotonicNow() < deadline);
      ::poll(nullptr, 0, 1);
    }
  }
  FakeStarter starter;
  CaptureRegistry captures{"/tmp", {.kept_per_user = 8}};
  CallResources resources;
  const DaemonFacts facts{
      .address = "unix:/nowhere", .audit = {}, .metrics = {}, .owner = Uid(::getuid()), .started = {}};
  ProfilerService service{
      {.uid = ::getuid(), .gid = ::getgid(), .groups = {}, .pid = {}}, captures, resources, starter.access(), &facts};
  InProcessServer server{service.services()};
  std::unique_ptr<v1::CaptureService::Stub> stub = v1::CaptureService::NewStub(server.Connect());
  std::unique_ptr<v1::NodeService::Stub> node = v1::NodeService::NewStub(server.Connect());
};

World& Here() {
  static World* const world = new World;  // lives as long as the process, as gRPC's threads may use it
  return *world;
}

// Whether the status is an answer.
bool Check(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK: return true;
    case grpc::StatusCode::UNKNOWN:
    case grpc::StatusCode::INTERNAL:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED: std::abort();
    default: Require(!status.error_message().empty() && !ReasonOf(status).empty()); return false;
  }
}

void Prepare(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(8));
}

// Fills a request; false if there is none.
using Filler = std::function<bool(google::protobuf::Message&)>;

v1::CaptureService::Stub& StubFor(const v1::CaptureService::Stub*) { return *Here().stub; }
v1::NodeService::Stub& StubFor(const v1::NodeService::Stub*) { return *Here().node; }

// Whether the call was answered; nullopt: it was not made.
template <typename Stub, typename Request, typename Response>
std::optional<bool> Unary(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                          const Filler& fill) {
  Request request;
  if (!fill(request)) {
    return std::nullopt;
  }
  grpc::ClientContext context;
  Prepare(context);
  Response response;
  return Check((StubFor(static_cast<Stub*>(nullptr)).*method)(&context, request, &response));
}

template <typename Stub, typename Request, typename Response>
std::optional<bool> Streaming(std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(grpc::ClientContext*,
                                                                                            const Request&),
                              const Filler& fill) {
  Request request;
  if (!fill(request)) {
    return std::nullopt;
  }
  grpc::ClientContext context;
  Prepare(context);
  const auto stream = (StubFor(static_cast<Stub*>(nullptr)).*method)(&context, request);
  Response response;
  while (stream->Read(&response)) {
  }
  return Check(stream->Finish());
}

using Captures = v1::CaptureService::Stub;
using Node = v1::NodeService::Stub;

struct CallKind {
  std::string_view name;
  std::optional<bool> (*call)(const Filler&);
};

constexpr CallKind kCalls[] = {
    {"ListProcesses", [](const Filler& fill) { return Unary(&Captures::ListProcesses, fill); }},
    {"DumpStacks", [](const Filler& fill) { return Unary(&Captures::DumpStacks, fill); }},
    {"CreateCapture", [](const Filler& fill) { return Unary(&Captures::CreateCapture, fill); }},
    {"GetCapture", [](const Filler& fill) { return Unary(&Captures::GetCapture, fill); }},
    {"ListCaptures", [](const Filler& fill) { return Unary(&Captures::ListCaptures, fill); }},
    {"CancelCapture", [](const Filler& fill) { return Unary(&Captures::CancelCapture, fill); }},
    {"DeleteCapture", [](const Filler& fill) { return Unary(&Captures::DeleteCapture, fill); }},
    {"WatchCapture", [](const Filler& fill) { return Streaming(&Captures::WatchCapture, fill); }},
    {"ReadTrace", [](const Filler& fill) { return Streaming(&Captures::ReadTrace, fill); }},
    {"Record", [](const Filler& fill) { return Streaming(&Captures::Record, fill); }},
    {"StreamSamples", [](const Filler& fill) { return Streaming(&Captures::StreamSamples, fill); }},
    {"GetNode", [](const Filler& fill) { return Unary(&Node::GetNode, fill); }},
    {"GetDaemonStatus", [](const Filler& fill) { return Unary(&Node::GetDaemonStatus, fill); }},
};

// How often each call was answered and refused.
class Tally {
 public:
  Tally() {
    size_t methods = 0;
    for (const auto* file : {v1::GetCaptureRequest::descriptor()->file(), v1::GetNodeRequest::descriptor()->file()}) {
      for (int i = 0; i < file->service(0)->method_count(); ++i, ++methods) {
        const std::string& name = file->service(0)->method(i)->name();
        Require(
            std::any_of(std::begin(kCalls), std::end(kCalls), [&](const CallKind& kind) { return kind.name == name; }));
      }
    }
    Require(methods == std::size(kCalls));
    std::atexit([] { Get().Report(); });
  }
  static Tally& Get() {
    static Tally* const tally = new Tally;
    return *tally;
  }
  void Count(size_t which, bool answered) { ++counts_[which][answered ? 0 : 1]; }

 private:
  static constexpr uint64_t kLongRun = 3000;

  void Report() const {
    uint64_t all = 0;
    bool every = true;
    for (size_t i = 0; i < counts_.size(); ++i) {
      const auto [answered, refused] = counts_[i];
      std::fprintf(stderr, "%-16s answered %8llu, refused %8llu\n", kCalls[i].name.data(),
                   static_cast<unsigned long long>(answered), static_cast<unsigned long long>(refused));
      all += answered + refused;
      every = every && answered > 0 && refused > 0;
    }
    if (all >= kLongRun && !every) {
      std::fprintf(stderr, "a call was never answered, or never refused: the corpus is too poor\n");
      std::_Exit(1);
    }
  }

  std::array<std::array<uint64_t, 2>, std::size(kCalls)> counts_{};
};

void Call(size_t which, const Filler& fill) {
  Tally& tally = Tally::Get();
  if (const auto answered = kCalls[which].call(fill); answered.has_value()) {
    tally.Count(which, *answered);
  }
}

constexpr uint8_t kByFields = 0x80;
constexpr int kCallsInARow = 4;

void Run(const uint8_t* data, size_t size) {
  if (data[0] < kByFields) {
    return Call(data[0] % std::size(kCalls), [&](google::protobuf::Message& request) {
      return request.ParseFromArray(data + 1, static_cast<int>(size) - 1);
    });
  }
  FuzzBytes bytes(data, size);
  for (int i = 0; i < kCallsInARow && !bytes.empty(); ++i) {
    Call((bytes.Byte() & ~kByFields) % std::size(kCalls), [&](google::protobuf::Message& request) {
      MessageMaker(bytes).Fill(request);
      return true;
    });
  }
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) {
    ptrace_prof::Here().Renew();
    ptrace_prof::Run(data, size);
    ptrace_prof::Here().starter.Forget();
  }
  return 0;
}
