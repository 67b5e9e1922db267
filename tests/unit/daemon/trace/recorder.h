// For tests of daemon/trace: a TraceVisitor that keeps everything it gets, with stacks written out, and functions to
// read a trace with it.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/trace_origin.h"

namespace ptrace_prof {

struct RecordedSample {
  int64_t when = 0;
  std::vector<Frame> frames;  // root first
  SampleQuality quality{};
  bool operator==(const RecordedSample&) const = default;
};

struct RecordedState {
  int64_t when = 0;
  ThreadState state{};
  bool holds_gil = false;
  std::string detail;
  bool operator==(const RecordedState&) const = default;
  bool SameState(const RecordedState& other) const {
    return state == other.state && holds_gil == other.holds_gil && detail == other.detail;
  }
};

struct RecordedThread {
  std::vector<ThreadInfo> infos;
  std::vector<RecordedSample> samples;
  std::vector<RecordedState> states;
  std::map<std::pair<size_t, uint32_t>, std::vector<LocalVariable>> locals;  // by (number of samples so far, depth)
};

inline std::vector<Frame> FramesOf(const StackTable& stacks, StackId stack) {
  std::vector<Frame> frames;
  for (; stack != kEmptyStack; stack = stacks.parent(stack)) {
    frames.insert(frames.begin(), stacks.frame(stacks.leaf(stack)));
  }
  return frames;
}

struct RecordedCounter {
  CounterInfo info;
  std::vector<std::pair<int64_t, int64_t>> values;
};

class Recorder : public TraceVisitor {
 public:
  void OnRequest(const CaptureTask& request) override { requests.push_back(request); }
  void OnProcess(const ProcessInfo& process) override { processes.push_back(process); }
  void OnThread(TrackId track, const ThreadInfo& thread) override { threads[track].infos.push_back(thread); }
  void OnSample(TrackId track, Nanos when, StackId stack, SampleQuality quality) override {
    threads[track].samples.push_back({when.value, FramesOf(reader->stacks(), stack), quality});
  }
  void OnState(TrackId track, Nanos when, const StateInfo& info) override {
    threads[track].states.push_back({when.value, info.state, info.holds_gil, std::string(info.detail)});
  }
  void OnLocals(TrackId track, uint32_t depth, std::span<const LocalVariable> locals) override {
    RecordedThread& thread = threads[track];
    thread.locals[{thread.samples.size(), depth}] = {locals.begin(), locals.end()};
  }
  void OnCounter(CounterId id, const CounterInfo& info) override {
    counters.resize(std::max<size_t>(counters.size(), id.value + 1));
    counters[id.value].info = info;
  }
  void OnCount(CounterId id, Nanos when, int64_t value) override {
    counters.at(id.value).values.emplace_back(when.value, value);
  }
  void OnProcessEntry(const ProcessEntry& entry) override { entries.push_back(entry); }
  void OnCheck(const Check& check) override { checks.push_back(check); }
  void OnNotice(Nanos when, std::string_view text) override { notices.emplace_back(when.value, text); }
  void OnWindow(const TimeRange& window) override { windows.emplace_back(window.begin.value, window.end.value); }
  void OnAccounting(const Accounting& totals) override { accountings.push_back(totals); }
  void OnEnd(const EndInfo& info) override { ends.push_back(info); }

  const TraceReader* reader = nullptr;
  std::vector<CaptureTask> requests;
  std::vector<ProcessInfo> processes;
  std::map<TrackId, RecordedThread> threads;
  std::vector<RecordedCounter> counters;  // by CounterId
  std::vector<ProcessEntry> entries;
  std::vector<Check> checks;
  std::vector<std::pair<int64_t, std::string>> notices;
  std::vector<std::pair<int64_t, int64_t>> windows;
  std::vector<Accounting> accountings;
  std::vector<EndInfo> ends;
};

inline constexpr int64_t kTraceStart = 5'000'000'000'000;

inline TraceOrigin FixedOrigin() {
  TraceOrigin origin;
  origin.boot_id = "11111111-2222-3333-4444-555555555555";
  origin.host = "testhost";
  origin.monotonic = Nanos(kTraceStart);
  origin.boottime = Nanos(5'100'000'000'000);
  origin.realtime = Nanos(1'790'000'000'000'000'000);
  return origin;
}

inline CaptureTask RequestFor(int32_t pid) {
  CaptureTask request;
  SetTarget(Pid(pid), &request);
  return request;
}

// Reads a trace in pieces of `piece` bytes and keeps its contents.
struct ReadBack {
  ReadBack() : reader(visitor) { visitor.reader = &reader; }
  explicit ReadBack(std::string_view bytes, size_t piece = SIZE_MAX) : ReadBack() { Feed(bytes, piece); }
  void Feed(std::string_view bytes, size_t piece = SIZE_MAX) {
    while (!bytes.empty() && status.has_value()) {
      const std::string_view part = bytes.substr(0, piece);
      status = reader.Feed(std::as_bytes(std::span(part)));
      bytes.remove_prefix(part.size());
    }
  }
  Recorder visitor;
  TraceReader reader;
  Result<void> status;
};

}  // namespace ptrace_prof
