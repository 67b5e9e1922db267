// Feeds TraceReader any bytes, in pieces of varying size, and checks that what it reports is consistent.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

class Checker : public TraceVisitor {
 public:
  void OnThread(TrackId track, const ThreadInfo&) override { tracks_ = std::max(tracks_, track.value + 1); }
  void OnSample(TrackId track, Nanos, StackId stack, SampleQuality quality) override {
    Require(track.value < tracks_);
    Require(static_cast<size_t>(quality) < kSampleQualityCount);
    const StackTable& stacks = reader->stacks();
    Require(stack.value <= stacks.stack_count());
    for (uint32_t depth = stacks.depth(stack); stack != kEmptyStack; stack = stacks.parent(stack), --depth) {
      Require(depth == stacks.depth(stack) && depth > 0);
      Require(stacks.leaf(stack).value < stacks.frame_count());
      if (depth % 64 != 0) {
        continue;  // small inputs make deep stacks; to check each frame would make the fuzzer slow
      }
      Require(stacks.frame(stacks.leaf(stack)).line >= 0);
    }
  }
  void OnState(TrackId track, Nanos, const StateInfo& info) override {
    Require(track.value < tracks_);
    Require(info.state <= ThreadState::kJobStopped);
    Require(info.detail.size() <= 256);
  }
  void OnCallBegin(TrackId track, Nanos, StackId stack, CallEntry entry, GeneratorId) override {
    Require(track.value < tracks_ && static_cast<size_t>(entry) < kCallEntryCount);
    Require(stack != kEmptyStack && stack.value <= reader->stacks().stack_count());
  }
  void OnCallEnd(TrackId track, Nanos, StackId stack, CallExit exit) override {
    Require(track.value < tracks_ && static_cast<size_t>(exit) < kCallExitCount);
    Require(stack != kEmptyStack && stack.value <= reader->stacks().stack_count());
  }
  void OnStep(TrackId track, Nanos begin, Nanos end, uint64_t) override {
    Require(track.value < tracks_ && begin <= end);
  }
  void OnRequest(const CaptureTask& request) override { Require(TargetOf(request).value >= 0); }
  void OnProcessEntry(const ProcessEntry& entry) override {
    Require(entry.kind <= ProcessKind::kEnded && entry.cmdline.size() <= 4096 && entry.gpu_libraries.size() <= 256);
  }
  void OnCheck(const Check& check) override { Require(check.verdict <= Verdict::kMissing); }
  void OnLocals(TrackId track, uint32_t, std::span<const LocalVariable>) override { Require(track.value < tracks_); }

  const TraceReader* reader = nullptr;

 private:
  uint32_t tracks_ = 0;
};

// The beginning of a trace of ours, so that the fuzzer need not find it.
const std::string& Header() {
  static const std::string header = [] {
    MemorySink sink;
    StackTable stacks;
    CaptureTask request;
    SetTarget(Pid(1), &request);
    TraceOrigin origin;
    origin.boot_id = "fuzz";
    TraceWriter writer(sink, stacks, request, origin);
    static_cast<void>(writer.Flush());
    return sink.bytes();
  }();
  return header;
}

}  // namespace

void Run(const uint8_t* data, size_t size) {
  if (size == 0) {
    return;
  }
  Checker checker;
  TraceReader reader(checker);
  checker.reader = &reader;
  const uint8_t control = *data;
  if (control & 1) {
    Require(reader.Feed(std::as_bytes(std::span(Header()))).has_value());
  }
  const size_t piece = control & 2 ? size_t{1} + (control >> 2) : size;
  for (size_t at = 1; at < size; at += piece) {
    const auto part = std::as_bytes(std::span(data + at, std::min(piece, size - at)));
    if (const auto status = reader.Feed(part); status.has_error()) {
      Require(status.error().code == Code::kDataLoss && !status.error().message.empty());
      Require(reader.Feed(part).has_error());
      return;
    }
  }
}

}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ptrace_prof::Run(data, size);
  return 0;
}
