// gpu_trace_dump TRACE: what a trace has about GPUs, each item as a line of JSON, for tests that know what should be
// there.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <unordered_map>

#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted + "\"";
}

constexpr const char* kKinds[] = {"kernel", "memcpy", "memset", "sync", "overhead", "graph"};
constexpr const char* kSources[] = {"none", "exact", "sampled", "backward", "launch"};
constexpr const char* kAnnotations[] = {"range", "mark", "open"};
constexpr const char* kStates[] = {"off", "starting", "recording", "refused", "no kernels", "ended"};

class Dump : public TraceVisitor {
 public:
  void OnThread(TrackId track, const ThreadInfo& thread) override { tids_[track.value] = thread.tid.value; }
  void OnGpuDevice(const GpuDevice& device) override {
    fmt::print("{{\"device\": {}, \"name\": {}, \"uuid\": {}, \"multiprocessors\": {}, \"threads\": {}}}\n", device.id,
               Quoted(device.name), Quoted(device.uuid), device.multiprocessors, device.max_threads_per_multiprocessor);
  }
  void OnGpuQueue(GpuQueueId id, const GpuQueue& queue) override { queues_[id.value] = queue; }
  void OnGpuOperation(GpuQueueId id, const GpuOperation& one) override {
    const GpuQueue& queue = queues_[id.value];
    fmt::print(
        "{{\"kind\": \"{}\", \"name\": {}, \"start\": {}, \"end\": {}, \"correlation\": {}, \"device\": {}, "
        "\"stream\": "
        "{}, \"graph\": {}, \"node\": {}, \"bytes\": {}, \"grid\": {}, \"launched\": {}, \"tid\": {}, \"source\": "
        "\"{}\", \"stack\": {}}}\n",
        kKinds[static_cast<size_t>(one.kind)], Quoted(one.name), one.begin.value, one.end.value, one.correlation,
        queue.device, queue.stream, one.graph, one.graph_node, one.bytes, one.shape.grid[0], one.launched.value,
        one.launched_by.value, kSources[static_cast<size_t>(one.stack_source)], Stack(one.stack));
  }
  void OnGpuApiCall(TrackId track, const GpuApiCall& call) override {
    fmt::print(
        "{{\"call\": {}, \"cbid\": {}, \"start\": {}, \"end\": {}, \"correlation\": {}, \"tid\": {}, \"source\": "
        "\"{}\", \"stack\": {}}}\n",
        Quoted(call.name), call.function, call.begin.value, call.end.value, call.correlation, tids_[track.value],
        kSources[static_cast<size_t>(call.stack_source)], Stack(call.stack));
  }
  void OnGpuAnnotation(TrackId track, const GpuAnnotation& one) override {
    fmt::print("{{\"annotation\": {}, \"what\": \"{}\", \"domain\": {}, \"start\": {}, \"end\": {}, \"tid\": {}}}\n",
               Quoted(one.name), kAnnotations[static_cast<size_t>(one.kind)], Quoted(one.domain), one.begin.value,
               one.end.value, tids_[track.value]);
  }
  void OnGpuAccounting(const GpuAccounting& totals) override { last_ = totals; }
  void OnNotice(Nanos, std::string_view text) override { fmt::print("{{\"notice\": {}}}\n", Quoted(text)); }

  void End() const {
    fmt::print(
        "{{\"state\": \"{}\", \"reason\": {}, \"message\": {}, \"cupti\": {}, \"calls\": {}, \"launches\": {}, "
        "\"kernels\": {}, \"dropped\": {}, \"invalid\": {}, \"invalid_records\": {}, \"unseen\": {}, "
        "\"without_launch\": {}, \"captured\": {}, \"replays_unseen\": {}, \"graphs_before\": {}, "
        "\"clock_violations\": {}, \"clock_steps\": {}, \"declined\": {}, \"unknown\": {}, \"attributed\": {}, "
        "\"attributed_launch\": {}, \"stacks_refused\": {}, \"stacks_lost\": {}, \"annotations\": {}, "
        "\"annotations_without_begin\": {}, \"annotations_without_end\": {}, \"annotations_lost\": {}, "
        "\"unlinked\": {}, \"ambiguous\": {}, \"others_without_launch\": [{}, {}, {}], \"uncovered_ns\": {}, "
        "\"early_ns\": [{}, {}, {}], \"rates\": [{}, {}], "
        "\"skipped\": {}}}\n",
        kStates[static_cast<size_t>(last_.state)], Quoted(ReasonName(last_.reason)), Quoted(last_.message),
        last_.cupti_version, last_.api_calls, last_.launches, last_.kernels, last_.dropped, last_.invalid,
        last_.invalid_records, last_.unseen, last_.without_launch, last_.captured, last_.replays_unseen,
        last_.graphs_before, last_.clock_violations, last_.clock_steps, last_.declined_buffers, last_.unknown_records,
        last_.attributed(), last_.attributed_launch, last_.stacks_refused, last_.stacks_lost, last_.annotations,
        last_.annotations_without_begin, last_.annotations_without_end, last_.annotations_lost, last_.unlinked,
        last_.ambiguous, last_.graphs_without_launch, last_.copies_without_launch, last_.memsets_without_launch,
        last_.uncovered_ns, last_.early_median_ns, last_.early_p99_ns, last_.early_most_ns, last_.launch_rate,
        last_.graph_rate, reader->skipped());
  }

  const TraceReader* reader = nullptr;

 private:
  // Root first.
  std::string Stack(StackId stack) const {
    std::string text;
    for (; stack != kEmptyStack; stack = reader->stacks().parent(stack)) {
      const Frame& frame = reader->stacks().frame(reader->stacks().leaf(stack));
      text = Quoted(frame.function) + (text.empty() ? "" : ", ") + text;
    }
    return "[" + text + "]";
  }

  std::unordered_map<uint32_t, GpuQueue> queues_;
  std::unordered_map<uint32_t, int> tids_;
  GpuAccounting last_;
};

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  using namespace ptrace_prof;
  if (argc != 2) {
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Dump dump;
  TraceReader reader(dump);
  dump.reader = &reader;
  if (const auto fed = reader.Feed(std::as_bytes(std::span(bytes))); fed.has_error()) {
    std::fprintf(stderr, "%s\n", fed.error().message.c_str());
    return 1;
  }
  dump.End();
  return 0;
}
