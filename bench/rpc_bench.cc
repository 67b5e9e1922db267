// Measures the service's cost for its clients: a simple call, the first sample after Record, a dump, reading a trace
// back, and how many samples of 50 concurrent captures arrive. Prints one JSON object; a list is empty if something
// failed.
//
// usage: rpc_bench ADDRESS ROUNDS PID PID_OF_64_THREADS PID... All calls go to the ptrace-profd at ADDRESS, except
// reading a trace. That trace lies in a spool of this program, behind a Unix socket or TLS, because no capture writes a
// gigabyte in a moment. The first PID spins, and is stopped while it is not measured. The last PIDs are the targets of
// the 50 captures. They may be stopped before; they are continued for the captures.
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/empty_server.h"
#include "daemon/trace/read/trace_reader.h"
#include "rpc/channel.h"
#include "tests/unit/daemon/server/captures/fake_collector.h"
#include "tests/unit/daemon/server/service/serving.h"

namespace ptrace_prof {
namespace {

using Stub = v1::CaptureService::Stub;

constexpr int kRounds = 40;
constexpr int kReads = 5;
constexpr uint32_t kSmallChunk = 128 * 1024;
constexpr int kCalls = 1000;
constexpr int kCallsBefore = 100;  // warm-up, not counted
constexpr uint64_t kTraceBytes = uint64_t{512} << 20;
constexpr int kCrowd = 50;
constexpr double kCrowdRate = 50;
constexpr double kCrowdSeconds = 2;

class SampleCount : public TraceVisitor {
 public:
  void OnSample(TrackId, Nanos, StackId, SampleQuality) override { ++samples; }
  uint64_t samples = 0;
};

// Stops a target for the lifetime of the object.
class Standstill {
 public:
  explicit Standstill(int pid) : pid_(pid) { ::kill(pid_, SIGSTOP); }
  ~Standstill() { ::kill(pid_, SIGCONT); }
  Standstill(const Standstill&) = delete;
  Standstill& operator=(const Standstill&) = delete;

 private:
  const int pid_;
};

// Times of consecutive calls; empty if one of them failed.
template <typename Ask>
std::vector<double> UnaryUs(Ask ask) {
  std::vector<double> times;
  for (int i = 0; i < kCallsBefore + kCalls; ++i) {
    grpc::ClientContext context;
    const Nanos begin = MonotonicNow();
    if (!ask(&context).ok()) {
      return {};
    }
    if (i >= kCallsBefore) {
      times.push_back(static_cast<double>((MonotonicNow() - begin).value) / 1e3);
    }
  }
  return times;
}

std::vector<double> ListUs(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::CaptureService::NewStub(channel);
  return UnaryUs([&](grpc::ClientContext* context) {
    v1::ListCapturesResponse response;
    return stub->ListCaptures(context, {}, &response);
  });
}

std::vector<double> StatusUs(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::NodeService::NewStub(channel);
  return UnaryUs([&](grpc::ClientContext* context) {
    v1::DaemonStatus response;
    return stub->GetDaemonStatus(context, {}, &response);
  });
}

std::vector<double> EmptyUs(const EmptyServer& server) {
  const auto channel = ConnectChannel(server.address());
  return channel.has_error() ? std::vector<double>() : ListUs(channel.value());
}

// Time from the call to the first sample at the client; below 0: it failed.
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

// Milliseconds; empty if one of them failed.
template <typename Measure>
std::vector<double> Repeat(int rounds, Measure measure) {
  std::vector<double> times;
  measure();  // warm-up
  for (int i = 0; i < rounds; ++i) {
    times.push_back(measure());
    if (times.back() < 0) {
      return {};
    }
  }
  return times;
}

// GB per second of reading a whole trace, several times; empty if one of them failed.
std::vector<double> Reads(Way way, uint32_t chunk, uint64_t trace_bytes) {
  FakeStarter starter;
  Serving serving(way, {}, &starter);
  grpc::ClientContext creating;
  v1::CreateCaptureRequest create;
  *create.mutable_spec() = SpecFor(7);
  v1::Capture capture;
  if (!serving.captures().CreateCapture(&creating, create, &capture).ok()) {
    return {};
  }
  const std::string trace = SmallTrace(false, 20'000);
  for (uint64_t written = 0; written < trace_bytes; written += trace.size()) {
    WriteAll(starter.started().back()->output.get(), trace);
  }
  WriteAll(starter.started().back()->output.get(), SmallTrace());
  starter.started().back()->output.reset();
  AwaitEnd(serving, capture.name());
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
    if (!stream->Finish().ok() || bytes < trace_bytes) {
      return {};
    }
    rates.push_back(static_cast<double>(bytes) / static_cast<double>((MonotonicNow() - begin).value));
  }
  return rates;
}

// Concurrent captures, and the fate of their samples.
struct Crowd {
  int ended_well = 0;
  uint64_t counted = 0;    // samples, as the service counts them
  uint64_t in_traces = 0;  // samples that arrived
  uint64_t not_taken = 0;  // counted as lost, idle or missed
  double expected = 0;     // rate times wall time
  uint64_t fewest = UINT64_MAX;
  uint64_t most = 0;
};

void AddToCrowd(Stub& stub, const std::string& name, Crowd& crowd) {
  grpc::ClientContext watching;
  v1::WatchCaptureRequest watch;
  watch.set_name(name);
  const auto events = stub.WatchCapture(&watching, watch);
  v1::CaptureEvent event;
  while (events->Read(&event)) {
  }
  (void)events->Finish();
  grpc::ClientContext reading;
  v1::ReadTraceRequest read;
  read.set_name(name);
  const auto chunks = stub.ReadTrace(&reading, read);
  SampleCount count;
  TraceReader reader(count);
  v1::TraceChunk chunk;
  while (chunks->Read(&chunk)) {
    (void)reader.Feed(std::as_bytes(std::span(chunk.data()))).has_error();
  }
  const bool is_whole = chunks->Finish().ok() && chunk.last();
  const v1::Totals& totals = event.capture().totals();
  crowd.ended_well += is_whole && event.capture().state() == v1::STATE_SUCCEEDED ? 1 : 0;
  crowd.counted += totals.samples();
  crowd.in_traces += count.samples;
  crowd.not_taken += totals.lost() + totals.idle_skipped() + totals.missed_rounds();
  crowd.expected += kCrowdRate * (static_cast<double>(totals.wall_time().seconds()) + totals.wall_time().nanos() / 1e9);
  crowd.fewest = std::min<uint64_t>(crowd.fewest, totals.samples());
  crowd.most = std::max<uint64_t>(crowd.most, totals.samples());
}

Crowd RunCrowd(Stub& stub, const std::vector<int>& pids) {
  for (const int pid : pids) {
    ::kill(pid, SIGCONT);
  }
  std::vector<std::string> names;
  for (int i = 0; i < kCrowd; ++i) {
    grpc::ClientContext context;
    v1::CreateCaptureRequest create;
    *create.mutable_spec() = SpecFor(pids[static_cast<size_t>(i) % pids.size()], kCrowdSeconds, kCrowdRate);
    v1::Capture capture;
    if (stub.CreateCapture(&context, create, &capture).ok()) {
      names.push_back(capture.name());
    }
  }
  Crowd crowd;
  for (const std::string& name : names) {
    AddToCrowd(stub, name, crowd);
  }
  return crowd;
}

std::string List(const std::vector<double>& numbers) { return fmt::format("[{:.4f}]", fmt::join(numbers, ", ")); }

void MeasureAlone(const EmptyServer& empty, const std::shared_ptr<grpc::Channel>& channel, uint64_t trace_bytes) {
  fmt::print("{{\"empty_us\": {},\n", List(EmptyUs(empty)));
  fmt::print(" \"list_us\": {},\n", List(ListUs(channel)));
  fmt::print(" \"status_us\": {},\n", List(StatusUs(channel)));
  fmt::print(" \"read_bytes\": {}, \"read_gb_per_s\": {},\n", trace_bytes,
             List(Reads(Way::kUnixSocket, 0, trace_bytes)));
  fmt::print(" \"read_small_chunks_gb_per_s\": {},\n", List(Reads(Way::kUnixSocket, kSmallChunk, trace_bytes)));
  fmt::print(" \"read_tls_gb_per_s\": {},\n", List(Reads(Way::kTls, 0, trace_bytes)));
  fmt::print(" \"read_tls_small_chunks_gb_per_s\": {},\n", List(Reads(Way::kTls, kSmallChunk, trace_bytes)));
}

int Main(const EmptyServer& empty, const std::string& address, int spinning, int of_64_threads,
         const std::vector<int>& crowd_pids, int rounds) {
  const auto channel = ConnectChannel(address);
  if (channel.has_error()) {
    fmt::print(stderr, "{}\n", channel.error().message);
    return 1;
  }
  const auto stub = v1::CaptureService::NewStub(channel.value());
  {
    const Standstill alone(spinning);
    MeasureAlone(empty, channel.value(), rounds < kRounds ? kTraceBytes / 4 : kTraceBytes);
  }
  fmt::print(" \"first_sample_ms\": {},\n", List(Repeat(rounds, [&] { return FirstSampleMs(*stub, spinning); })));
  fmt::print(" \"dump_ms\": {},\n", List(Repeat(rounds, [&] { return DumpMs(*stub, of_64_threads); })));
  const Crowd crowd = RunCrowd(*stub, crowd_pids);
  fmt::print(
      " \"crowd\": {{\"asked\": {}, \"ended_well\": {}, \"counted\": {}, \"in_traces\": {}, \"not_taken\": {}, "
      "\"expected\": {:.0f}, \"fewest\": {}, \"most\": {}}}}}\n",
      kCrowd, crowd.ended_well, crowd.counted, crowd.in_traces, crowd.not_taken, crowd.expected, crowd.fewest,
      crowd.most);
  return 0;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: rpc_bench ADDRESS ROUNDS PID PID_OF_64_THREADS PID...\n");
    return 2;
  }
  std::vector<int> crowd;
  for (int i = 5; i < argc; ++i) {
    crowd.push_back(std::atoi(argv[i]));
  }
  const ptrace_prof::EmptyServer empty;
  return ptrace_prof::Main(empty, argv[1], std::atoi(argv[3]), std::atoi(argv[4]), crowd, std::atoi(argv[2]));
}
