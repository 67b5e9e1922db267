// What the service costs its clients: the first sample after Record, a dump, the trace read back. One line each.
//
// usage: rpc_bench ADDRESS PID PID_OF_64_THREADS
// The first two are asked of the ptrace-profd at ADDRESS; the trace that is read lies in a spool of this program's own,
// behind a Unix socket, because no capture writes a gigabyte in a moment.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "daemon/trace/trace_reader.h"
#include "rpc/channel.h"
#include "tests/unit/daemon_service_serving.h"
#include "tests/unit/daemon_session_fake_collector.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using Stub = v1::CaptureService::Stub;

constexpr int kRounds = 40;
constexpr int kReads = 5;
constexpr uint64_t kTraceBytes = uint64_t{512} << 20;

class SampleCount : public TraceVisitor {
 public:
  void OnSample(TrackId, Nanos, StackId, SampleQuality) override { ++samples; }
  uint64_t samples = 0;
};

// From the call to the first sample in the client's hands; below 0: it failed.
double FirstSampleMs(Stub& stub, int pid) {
  grpc::ClientContext context;
  v1::RecordRequest request;
  *request.mutable_spec() = SpecFor(pid, 0, 400);
  SampleCount count;
  TraceReader reader(count);
  const Nanos begin = MonotonicNow();
  const auto stream = stub.Record(&context, request);
  v1::RecordEvent event;
  double ms = -1;
  while (ms < 0 && stream->Read(&event)) {
    (void)reader.Feed(std::as_bytes(std::span(event.chunk().data()))).has_error();
    ms = count.samples > 0 ? static_cast<double>((MonotonicNow() - begin).value) / 1e6 : -1;
  }
  context.TryCancel();
  (void)stream->Finish();
  return ms;
}

double DumpMs(Stub& stub, int pid) {
  grpc::ClientContext context;
  v1::DumpStacksRequest request;
  request.mutable_target()->set_pid(pid);
  v1::DumpStacksResponse response;
  const Nanos begin = MonotonicNow();
  const bool good = stub.DumpStacks(&context, request, &response).ok() && response.threads_size() >= 64;
  return good ? static_cast<double>((MonotonicNow() - begin).value) / 1e6 : -1;
}

template <typename Measure>
void Report(std::string_view what, double bound, Measure measure) {
  std::vector<double> times;
  measure();  // warm
  for (int i = 0; i < kRounds; ++i) {
    times.push_back(measure());
  }
  std::sort(times.begin(), times.end());
  fmt::print("{}: p50 {:.1f} ms, p95 {:.1f} ms, worst {:.1f} ms, of {} (bound: p50 {} ms){}\n", what,
             times[kRounds / 2], times[kRounds * 95 / 100], times.back(), kRounds, bound,
             times.front() < 0 ? "; SOME FAILED" : "");
}

void ReportReads(uint32_t chunk) {
  FakeStarter starter;
  Serving serving(Way::kUnixSocket, {}, &starter);
  grpc::ClientContext creating;
  v1::CreateCaptureRequest create;
  *create.mutable_spec() = SpecFor(7);
  v1::Capture capture;
  if (!serving.captures().CreateCapture(&creating, create, &capture).ok()) {
    fmt::print("trace read: FAILED\n");
    return;
  }
  const std::string trace = SmallTrace(false, 20'000);
  for (uint64_t written = 0; written < kTraceBytes; written += trace.size()) {
    WriteAll(starter.started().back()->output.get(), trace);
  }
  WriteAll(starter.started().back()->output.get(), SmallTrace());
  starter.started().back()->output.reset();
  AwaitEnd(serving, capture.name());
  double best = 0;
  std::vector<double> rates;
  for (int i = 0; i < kReads; ++i) {
    grpc::ClientContext context;
    v1::ReadTraceRequest request;
    request.set_name(capture.name());
    request.set_max_chunk_bytes(chunk);
    const Nanos begin = MonotonicNow();
    const auto stream = serving.captures().ReadTrace(&context, request);
    v1::TraceChunk piece;
    uint64_t bytes = 0;
    while (stream->Read(&piece)) {
      bytes += piece.data().size();
    }
    if (!stream->Finish().ok() || bytes < kTraceBytes) {
      fmt::print("trace read: FAILED after {} bytes\n", bytes);
      return;
    }
    rates.push_back(static_cast<double>(bytes) / static_cast<double>((MonotonicNow() - begin).value));
    best = std::max(best, rates.back());
  }
  std::sort(rates.begin(), rates.end());
  fmt::print("trace read in chunks of {} KiB: median {:.2f} GB/s, best {:.2f} GB/s, of {} (bound: 1 GB/s)\n",
             (chunk == 0 ? 128 * 1024 : chunk) / 1024, rates[kReads / 2], best, kReads);
}

int Main(char** argv) {
  const auto channel = ConnectChannel(argv[1]);
  if (channel.has_error()) {
    fmt::print(stderr, "{}\n", channel.error().message);
    return 1;
  }
  const auto stub = v1::CaptureService::NewStub(channel.value());
  Report("first sample after Record", 100, [&] { return FirstSampleMs(*stub, std::atoi(argv[2])); });
  Report("dump of 64 threads", 50, [&] { return DumpMs(*stub, std::atoi(argv[3])); });
  ReportReads(0);
  ReportReads(1 << 20);
  return 0;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: rpc_bench ADDRESS PID PID_OF_64_THREADS\n");
    return 2;
  }
  return ptrace_prof::Main(argv);
}
