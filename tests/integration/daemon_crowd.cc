// Many clients of ptrace-profd at once, each with a connection of its own, for tests/soak/daemon_load.py. Prints one
// JSON object on stdout.
//
//   daemon_crowd ADDRESS unary CALLS                     one client makes one call after the other: microseconds
//   daemon_crowd ADDRESS crowd CLIENTS CAPTURES SECONDS PID...   captures of these processes in turn; a third of the
//       clients lists them, a third watches one, a third follows a trace, all to the end
//   daemon_crowd ADDRESS stopped NAME|live:PID|dump:PID CLIENTS   each client reads a first message and no more. The
//       program then prints `ready`, and ends when its input ends. A dump is requested, and not read at all
//   daemon_crowd ADDRESS slow NAME CLIENTS               each reads a chunk, waits, and so on; else like stopped
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "attach/base/types.h"
#include "daemon/trace/read/trace_reader.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/channel.h"

namespace ptrace_prof {
namespace {

namespace api = ptraceprof::v1;
using Stub = api::CaptureService::Stub;
using Words = std::vector<std::string>;

constexpr double kRate = 100;
constexpr auto kListPause = std::chrono::milliseconds(20);
constexpr auto kSipPause = std::chrono::milliseconds(50);
constexpr auto kAwhile = std::chrono::milliseconds(1000);
constexpr uint32_t kLargestChunk = 1 << 20;
constexpr std::string_view kLive = "live:";
constexpr std::string_view kDump = "dump:";
constexpr Nanos kConnecting = Nanos::FromSeconds(120);

std::shared_ptr<grpc::Channel> Connect(const std::string& address) {
  auto channel = ConnectChannel(address, {.patience = kConnecting});
  return channel.has_error() ? nullptr : std::move(channel).value();
}

class SampleCount : public TraceVisitor {
 public:
  void OnSample(TrackId, Nanos, StackId, SampleQuality) override { ++samples; }
  uint64_t samples = 0;
};

struct Capture {
  std::string name;
  api::Capture end;
};

// What one client of a crowd got.
struct Outcome {
  bool good = false;
  uint64_t answers = 0;
  size_t capture = 0;
  uint64_t samples = 0;  // of a client that follows a trace
};

std::unique_ptr<Stub> StubTo(const std::string& address) {
  const auto channel = Connect(address);
  return channel == nullptr ? nullptr : api::CaptureService::NewStub(channel);
}

void KeepListing(Stub& stub, size_t captures, const std::atomic<bool>& over, Outcome& mine) {
  mine.good = true;
  while (!over) {
    grpc::ClientContext context;
    api::ListCapturesResponse response;
    mine.good = stub.ListCaptures(&context, {}, &response).ok() &&
                response.captures_size() == static_cast<int>(captures) && mine.good;
    ++mine.answers;
    std::this_thread::sleep_for(kListPause);
  }
}

void Watch(Stub& stub, Capture& capture, Outcome& mine) {
  grpc::ClientContext context;
  api::WatchCaptureRequest request;
  request.set_name(capture.name);
  const auto events = stub.WatchCapture(&context, request);
  api::CaptureEvent event;
  for (; events->Read(&event); ++mine.answers) {
  }
  mine.good = events->Finish().ok() && event.capture().state() == api::STATE_SUCCEEDED;
}

void Follow(Stub& stub, const Capture& capture, Outcome& mine) {
  grpc::ClientContext context;
  api::ReadTraceRequest request;
  request.set_name(capture.name);
  request.set_follow(true);
  const auto chunks = stub.ReadTrace(&context, request);
  SampleCount count;
  TraceReader reader(count);
  api::TraceChunk chunk;
  bool reads_well = true;
  for (; chunks->Read(&chunk); ++mine.answers) {
    reads_well = reader.Feed(std::as_bytes(std::span(chunk.data()))).has_value() && reads_well;
  }
  mine.good = chunks->Finish().ok() && chunk.last() && reads_well;
  mine.samples = count.samples;
}

std::vector<Capture> Begin(Stub& stub, size_t count, double seconds, const Words& pids) {
  std::vector<Capture> captures;
  for (size_t i = 0; i < count; ++i) {
    api::CreateCaptureRequest request;
    request.mutable_spec()->mutable_target()->set_pid(std::stoi(pids[i % pids.size()]));
    request.mutable_spec()->set_mode(api::MODE_SAMPLE);
    request.mutable_spec()->mutable_duration()->set_seconds(static_cast<int64_t>(seconds));
    request.mutable_spec()->mutable_sample()->set_rate_hz(kRate);
    grpc::ClientContext context;
    api::Capture capture;
    if (stub.CreateCapture(&context, request, &capture).ok()) {
      captures.push_back({capture.name(), {}});
    }
  }
  return captures;
}

double Seconds(const google::protobuf::Duration& time) {
  return static_cast<double>(time.seconds()) + time.nanos() / 1e9;
}

void AwaitEnds(Stub& stub, std::vector<Capture>& captures) {
  for (Capture& capture : captures) {
    Outcome ignored;
    Watch(stub, capture, ignored);
    grpc::ClientContext context;
    api::GetCaptureRequest request;
    request.set_name(capture.name);
    stub.GetCapture(&context, request, &capture.end);
  }
}

struct Spread {
  uint64_t fewest = UINT64_MAX;
  uint64_t most = 0;
  void Add(uint64_t value) {
    fewest = std::min(fewest, value);
    most = std::max(most, value);
  }
  std::string text() const { return fmt::format("[{}, {}]", most == 0 ? 0 : fewest, most); }
};

// Every sample that a capture counts must be in the trace of each client that follows it, and each round is counted.
void Report(const std::vector<Capture>& captures, const std::vector<Outcome>& outcomes) {
  Spread taken;
  Spread listed;
  uint64_t samples = 0;
  uint64_t not_taken = 0;
  uint64_t differing = 0;
  double asked = 0;
  double cpu = 0;
  size_t succeeded = 0;
  for (const Capture& capture : captures) {
    const api::Totals& totals = capture.end.totals();
    succeeded += capture.end.state() == api::STATE_SUCCEEDED ? 1 : 0;
    taken.Add(totals.samples());
    samples += totals.samples();
    not_taken += totals.lost() + totals.idle_skipped() + totals.missed_rounds();
    asked += kRate * Seconds(totals.wall_time());
    cpu += Seconds(totals.collector_cpu_time());
  }
  size_t good = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    good += outcomes[i].good ? 1 : 0;
    if (i % 3 == 0) {
      listed.Add(outcomes[i].answers);
    } else if (i % 3 == 2) {
      differing += outcomes[i].samples == captures[outcomes[i].capture].end.totals().samples() ? 0 : 1;
    }
  }
  fmt::print(
      "{{\"captures\": {}, \"succeeded\": {}, \"clients\": {}, \"good\": {}, \"samples\": {}, \"not_taken\": {}, "
      "\"asked\": {:.0f}, \"differing\": {}, \"samples_each\": {}, \"lists_each\": {}, \"collector_cpu\": {:.3f}}}\n",
      captures.size(), succeeded, outcomes.size(), good, samples, not_taken, asked, differing, taken.text(),
      listed.text(), cpu);
}

int RunCrowd(const std::string& address, const Words& words) {
  const auto clients = static_cast<size_t>(std::stoi(words.at(0)));
  const auto first = StubTo(address);
  if (first == nullptr) {
    return 1;
  }
  std::vector<Outcome> outcomes(clients);
  std::vector<std::unique_ptr<Stub>> stubs(clients);
  for (auto& stub : stubs) {  // all clients are connected before anything begins
    stub = StubTo(address);
  }
  std::vector<Capture> captures = Begin(*first, static_cast<size_t>(std::stoi(words.at(1))), std::stod(words.at(2)),
                                        Words(words.begin() + 3, words.end()));
  if (captures.empty()) {
    return 1;
  }
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < clients; ++i) {
    outcomes[i].capture = i / 3 % captures.size();
    threads.emplace_back([&, i] {
      Capture& capture = captures[outcomes[i].capture];
      if (stubs[i] == nullptr) {
        return;
      }
      i % 3 == 0   ? KeepListing(*stubs[i], captures.size(), over, outcomes[i])
      : i % 3 == 1 ? Watch(*stubs[i], capture, outcomes[i])
                   : Follow(*stubs[i], capture, outcomes[i]);
    });
  }
  AwaitEnds(*first, captures);
  over = true;
  std::for_each(threads.begin(), threads.end(), [](std::thread& thread) { thread.join(); });
  Report(captures, outcomes);
  return 0;
}

int RunUnary(const std::string& address, const Words& words) {
  const auto channel = Connect(address);
  if (channel == nullptr) {
    return 1;
  }
  const auto stub = api::NodeService::NewStub(channel);
  std::vector<double> times;
  const int warm = 200;
  for (int i = -warm; i < std::stoi(words.at(0)); ++i) {
    grpc::ClientContext context;
    api::DaemonStatus status;
    const Nanos begin = MonotonicNow();
    if (!stub->GetDaemonStatus(&context, {}, &status).ok()) {
      return 1;
    }
    if (i >= 0) {
      times.push_back(static_cast<double>((MonotonicNow() - begin).value) / 1e3);
    }
  }
  std::sort(times.begin(), times.end());
  fmt::print("{{\"p50\": {:.1f}, \"p99\": {:.1f}}}\n", times[times.size() / 2], times[times.size() * 99 / 100]);
  return 0;
}

// What the clients of Linger() wait for: the arrival of all of them, and the end.
class Lingering {
 public:
  explicit Lingering(int clients) : arrived_(clients) {}
  void Arrive() { arrived_.count_down(); }
  void AwaitAll() { arrived_.wait(); }
  void End() { over_.set_value(); }
  bool IsOver(std::chrono::milliseconds within) const { return ended_.wait_for(within) == std::future_status::ready; }

 private:
  std::latch arrived_;
  std::promise<void> over_;
  const std::shared_future<void> ended_ = over_.get_future().share();
};

using Reading = std::function<void(Stub&, grpc::ClientContext&, Lingering&)>;

// Calls `read` in threads with a connection each, prints `ready` when all have arrived, and ends when the input ends.
int Linger(const std::string& address, int clients, const Reading& read) {
  Lingering lingering(clients);
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    threads.emplace_back([&, context = contexts.back().get()] {
      const auto stub = StubTo(address);
      stub == nullptr ? lingering.Arrive() : read(*stub, *context, lingering);
    });
  }
  lingering.AwaitAll();
  fmt::print("ready\n");
  std::fflush(stdout);
  char end = 0;
  (void)!::read(STDIN_FILENO, &end, 1);
  lingering.End();
  std::for_each(contexts.begin(), contexts.end(), [](const auto& context) { context->TryCancel(); });
  std::for_each(threads.begin(), threads.end(), [](std::thread& thread) { thread.join(); });
  return 0;
}

// Reads one message, and then one more after each `pause`. Without a pause it reads no more.
template <typename Stream, typename Message>
void Sip(Stream& stream, Message message, std::optional<std::chrono::milliseconds> pause, Lingering& lingering) {
  stream.Read(&message);
  lingering.Arrive();
  while (pause.has_value() && !lingering.IsOver(*pause) && stream.Read(&message)) {
  }
  while (!lingering.IsOver(kAwhile)) {
  }
}

// Does not wait at the completion queue, so the response is not read.
void LeaveUnread(Stub& stub, grpc::ClientContext& context, pid_t pid, Lingering& lingering) {
  api::DumpStacksRequest request;
  request.mutable_target()->set_pid(pid);
  api::DumpStacksResponse response;
  grpc::Status status;
  grpc::CompletionQueue queue;
  const auto call = stub.AsyncDumpStacks(&context, request, &queue);
  call->Finish(&response, &status, &queue);
  lingering.Arrive();
  while (!lingering.IsOver(kAwhile)) {
  }
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
}

int RunReaders(const std::string& address, const Words& words, std::optional<std::chrono::milliseconds> pause) {
  const std::string& what = words.at(0);
  const int clients = std::stoi(words.at(1));
  if (what.starts_with(kLive)) {
    api::StreamSamplesRequest request;
    request.mutable_spec()->mutable_target()->set_pid(std::stoi(what.substr(kLive.size())));
    request.mutable_spec()->mutable_sample()->set_no_overhead_limit(true);
    request.mutable_interval()->set_nanos(50'000'000);
    return Linger(address, clients, [&](Stub& stub, grpc::ClientContext& context, Lingering& lingering) {
      Sip(*stub.StreamSamples(&context, request), api::SampleBatch(), pause, lingering);
    });
  }
  if (what.starts_with(kDump)) {
    const pid_t pid = std::stoi(what.substr(kDump.size()));
    return Linger(address, clients, [&](Stub& stub, grpc::ClientContext& context, Lingering& lingering) {
      LeaveUnread(stub, context, pid, lingering);
    });
  }
  api::ReadTraceRequest request;
  request.set_name(what);
  request.set_max_chunk_bytes(kLargestChunk);
  return Linger(address, clients, [&](Stub& stub, grpc::ClientContext& context, Lingering& lingering) {
    Sip(*stub.ReadTrace(&context, request), api::TraceChunk(), pause, lingering);
  });
}

int Main(const Words& words) {
  if (words.size() == 3 && words[1] == "unary") {
    return RunUnary(words[0], {words[2]});
  }
  if (words.size() >= 6 && words[1] == "crowd") {
    return RunCrowd(words[0], Words(words.begin() + 2, words.end()));
  }
  if (words.size() == 4 && (words[1] == "stopped" || words[1] == "slow")) {
    return RunReaders(words[0], {words[2], words[3]}, words[1] == "slow" ? std::optional(kSipPause) : std::nullopt);
  }
  fmt::print(stderr, "usage: daemon_crowd ADDRESS unary|crowd|stopped|slow ...\n");
  return 2;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) { return ptrace_prof::Main({argv + 1, argv + argc}); }
