// Writes traces through TraceWriter for perfetto_test.py, and beside each NAME.pftrace its contents: NAME.json.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/integration/perfetto_calls_maker.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kInterval = 2'000'000;

TraceOrigin OriginOf(std::string boot_id, int64_t start_ns) {
  TraceOrigin origin;
  origin.boot_id = std::move(boot_id);
  origin.host = "testhost";
  origin.monotonic = Nanos(start_ns);
  origin.boottime = Nanos(start_ns + 3'000'000'000);
  origin.realtime = Nanos(start_ns + 1'790'000'000'000'000'000);
  return origin;
}

// What perfetto_test.py should find in a trace.
struct Expected {
  std::map<std::pair<int, std::string>, int> samples;  // by tid and thread name
  std::map<std::string, int> slices;                   // by name
  std::map<std::string, int> leaves;                   // by function
};

struct Plan {
  int32_t pid = 4000;
  int threads = 3;
  int rounds = 500;
  int clear_every = 0;  // rounds between two StackTable::Clear; 0 = never
  int64_t start_ns = 7'000'000'000'000;
  uint32_t seed = 1;
  bool end_threads = false;
};

class Maker {
 public:
  explicit Maker(const Plan& plan)
      : plan_(plan),
        random_(plan.seed),
        writer_(sink, stacks_, Request(), OriginOf("0b0b0b0b-0000-0000-0000-000000000001", plan.start_ns)) {}

  void Run() {
    ProcessInfo process;
    process.pid = Pid(plan_.pid);
    process.ns_pid = Pid(1);
    process.parent_pid = Pid(1);
    process.name = fmt::format("python{}", plan_.pid);
    process.cmdline = {"python3", "train.py", "--epochs=3"};
    process.python = "3.11.7";
    writer_.AddProcess(process);
    for (int i = 0; i < plan_.threads; ++i) {
      AddThread(i);
    }
    for (int round = 0; round < plan_.rounds; ++round) {
      Round(round);
    }
    const auto ended = writer_.End(Nanos(now_), Accounting{}, EndInfo{});
    if (ended.has_error()) {
      fmt::print(stderr, "{}\n", ended.error().message);
    }
  }

  MemorySink sink;
  Expected expected;

 private:
  CaptureTask Request() const {
    CaptureTask request;
    SetTarget(Pid(plan_.pid), &request);
    return request;
  }

  void AddThread(int index) {
    ThreadInfo info;
    info.pid = Pid(plan_.pid);
    info.tid = Tid(plan_.pid + index);
    info.ns_tid = Tid(1 + index);
    info.name = index == 0 ? "MainThread" : fmt::format("Worker {} é", index);
    info.is_main = index == 0;
    threads_[index] = {writer_.AddThread(info), info};
  }

  void Round(int round) {
    now_ += kInterval + static_cast<int64_t>(random_() % 1'000'000) - 500'000;
    for (auto& [index, thread] : threads_) {
      SetState(thread.first, round / (3 + index));
      AddSample(thread.first, thread.second);
    }
    if (plan_.end_threads && round % 100 == 99) {
      writer_.EndThread(threads_[1].first, Nanos(now_));
      AddThread(1);  // the same tid again
    }
    if (round % 50 == 49) {
      static_cast<void>(writer_.Flush());
    }
    if (plan_.clear_every != 0 && round % plan_.clear_every == plan_.clear_every - 1) {
      static_cast<void>(writer_.Flush());
      stacks_.Clear();
    }
  }

  void SetState(ThreadHandle thread, int step) {
    static const StateInfo kStates[] = {{ThreadState::kRunning, true, ""},
                                        {ThreadState::kGilWait, false, ""},
                                        {ThreadState::kIdle, false, "epoll_wait"},
                                        {ThreadState::kUnknown, false, ""}};
    static const char* const kNames[] = {"running (holds the GIL)", "waiting for the GIL", "idle: epoll_wait", ""};
    const int which = step % 4;
    writer_.SetState(thread, Nanos(now_), kStates[which]);
    auto [last, fresh] = last_state_.try_emplace(thread.value, 3);
    if (last->second != which && which != 3) {
      ++expected.slices[kNames[which]];
    }
    last->second = which;
  }

  void AddSample(ThreadHandle handle, const ThreadInfo& info) {
    StackId stack = kEmptyStack;
    std::string leaf;
    const size_t depth = random_() % 20;
    for (size_t i = 0; i < depth; ++i) {
      Frame frame;
      const auto which = random_() % 5;
      frame.function = fmt::format("Model.layer_{}", which);
      frame.file = which == 0 ? "<frozen importlib._bootstrap>" : fmt::format("/srv/app/layer_{}.py", which);
      frame.line = static_cast<int32_t>(1 + random_() % 3);
      frame.column = 4;
      stack = stacks_.InternStack(stack, stacks_.InternFrame(frame));
      leaf = frame.function;
    }
    const auto quality = random_() % 10 == 0 ? SampleQuality::kTruncated : SampleQuality::kSeen;
    writer_.AddSample(handle, Nanos(now_), stack, quality);
    ++expected.samples[{info.tid.value, info.name}];
    ++expected.leaves[depth == 0 ? "[no Python frame]" : leaf];
  }

  Plan plan_;
  std::mt19937 random_;
  StackTable stacks_;
  TraceWriter writer_;
  std::map<int, std::pair<ThreadHandle, ThreadInfo>> threads_;
  std::map<uint32_t, int> last_state_;
  int64_t now_ = plan_.start_ns + 1'000'000;
};

std::string Json(const Expected& expected) {
  std::string text = "{\"samples\": [";
  const char* comma = "";
  for (const auto& [thread, count] : expected.samples) {
    text += fmt::format("{}[{}, \"{}\", {}]", std::exchange(comma, ", "), thread.first, thread.second, count);
  }
  const auto table = [&](const char* name, const std::map<std::string, int>& counts) {
    text += fmt::format("], \"{}\": [", name);
    comma = "";
    for (const auto& [key, count] : counts) {
      text += fmt::format("{}[\"{}\", {}]", std::exchange(comma, ", "), key, count);
    }
  };
  table("slices", expected.slices);
  table("leaves", expected.leaves);
  return text + "]}\n";
}

void Add(Expected& to, const Expected& from) {
  for (const auto& [key, count] : from.samples) to.samples[key] += count;
  for (const auto& [key, count] : from.slices) to.slices[key] += count;
  for (const auto& [key, count] : from.leaves) to.leaves[key] += count;
}

void Save(const std::string& folder, const std::string& name, const std::string& bytes, const Expected& expected) {
  std::ofstream(folder + "/" + name + ".pftrace", std::ios::binary) << bytes;
  std::ofstream(folder + "/" + name + ".json") << Json(expected);
}

}  // namespace

int MakeAll(const std::string& folder) {
  Maker plain(Plan{});
  plain.Run();
  Save(folder, "plain", plain.sink.bytes(), plain.expected);
  Save(folder, "truncated", plain.sink.bytes().substr(0, plain.sink.bytes().size() * 4 / 5), plain.expected);

  Plan small;  // also a seed for the reader's fuzzer
  small.threads = 2;
  small.rounds = 8;
  small.clear_every = 3;
  Maker tiny(small);
  tiny.Run();
  Save(folder, "tiny", tiny.sink.bytes(), tiny.expected);

  Plan resets;
  resets.clear_every = 60;
  resets.end_threads = true;
  Maker cleared(resets);
  cleared.Run();
  Save(folder, "resets", cleared.sink.bytes(), cleared.expected);

  Plan earlier;  // another process of the same host, begun a second before
  earlier.pid = 5000;
  earlier.seed = 2;
  earlier.start_ns -= 1'000'000'000;
  Maker second(earlier);
  second.Run();
  Expected both = plain.expected;
  Add(both, second.expected);
  Save(folder, "concatenated", plain.sink.bytes() + second.sink.bytes(), both);
  return 0;
}

}  // namespace ptrace_prof

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: perfetto_trace_maker FOLDER\n");
    return 2;
  }
  ptrace_prof::MakeCallTraces(argv[1]);
  return ptrace_prof::MakeAll(argv[1]);
}
