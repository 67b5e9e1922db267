#include "tests/integration/perfetto_calls_maker.h"

#include <fmt/format.h>

#include <fstream>
#include <optional>
#include <random>
#include <vector>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kStart = 7'000'000'000'000;
constexpr int kFunctions = 40;
constexpr size_t kLevelDepth = 500;  // deeper calls are on another track

TraceOrigin Origin(int64_t start) {
  TraceOrigin origin;
  origin.boot_id = "0b0b0b0b-0000-0000-0000-000000000001";
  origin.monotonic = Nanos(start);
  origin.boottime = Nanos(start + 3'000'000'000);
  origin.realtime = Nanos(start + 1'790'000'000'000'000'000);
  return origin;
}

CaptureTask Request(int pid) {
  CaptureTask request;
  SetTarget(Pid(pid), &request);
  return request;
}

// A process with threads that call, and what Perfetto should find.
class Callers {
 public:
  Callers(int pid, int threads, int64_t start) : writer_(sink, stacks_, Request(pid), Origin(start)) {
    ProcessInfo process;
    process.pid = Pid(pid);
    process.name = "python";
    writer_.AddProcess(process);
    for (int i = 0; i < threads; ++i) {
      ThreadInfo info;
      info.pid = Pid(pid);
      info.tid = Tid(pid + i);
      info.name = fmt::format("Caller {}", i);
      threads_.push_back({.handle = writer_.AddThread(info), .tid = pid + i, .now = start + i});
    }
  }

  void Begin(size_t thread, int which, CallEntry entry = CallEntry::kCall, uint64_t generator = 0) {
    Thread& t = threads_[thread];
    Frame frame;
    frame.function = fmt::format("Class.function_{}", which);
    frame.file = fmt::format("/srv/app/module_{}.py", which % 7);
    frame.line = frame.first_line = which + 1;
    writer_.BeginCall(t.handle, Nanos(t.now), stacks_.InternFrame(frame), entry, GeneratorId(generator));
    t.open.push_back(
        {fmt::format("Class.function_{} (module_{}.py:{})", which, which % 7, which + 1), t.now, which, generator});
  }
  void End(size_t thread, CallExit exit = CallExit::kReturn) {
    Thread& t = threads_[thread];
    writer_.EndCall(t.handle, Nanos(t.now), exit);
    Close(t);
  }
  void Lose(size_t thread, int64_t length, uint64_t events) {
    Thread& t = threads_[thread];
    writer_.AddLostCalls(t.handle, Nanos(t.now), Nanos(t.now + length), events);
    rows_.push_back(Row(t, "[events lost]", t.now, length, t.open.size() % kLevelDepth));
    t.now += length;
  }
  // Random calls, with generators that are suspended and resumed, and lost events.
  void Run(int events, uint32_t seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < events; ++i) {
      const size_t thread = random() % threads_.size();
      Thread& t = threads_[thread];
      t.now += random() % 3 == 0 ? 0 : static_cast<int64_t>(random() % 1000);
      const auto dice = random() % 100;
      if (t.open.empty() || (dice < 48 && t.open.size() < 60)) {
        const bool resumes = random() % 5 == 0;
        Begin(thread, static_cast<int>(random() % kFunctions), resumes ? CallEntry::kResume : CallEntry::kCall,
              resumes ? 1 + random() % 9 : 0);
      } else if (dice == 99) {
        Lose(thread, 500, 77);
      } else {
        End(thread, t.open.back().generator != 0 ? CallExit::kYield
                    : random() % 30 == 0         ? CallExit::kUnwind
                                                 : CallExit::kReturn);
      }
      if (i % 1000 == 0) {
        SetState(t, i / 1000);
        static_cast<void>(writer_.Flush());
      }
    }
  }
  void Recurse(int depth) {
    for (int i = 0; i < depth; ++i) {
      threads_[0].now += 10;
      Begin(0, i % 3);
    }
    for (int i = 0; i < depth; ++i) {
      threads_[0].now += 10;
      End(0);
    }
  }
  void Finish() {
    int64_t end = 0;
    for (const Thread& t : threads_) {
      end = std::max(end, t.now);
    }
    for (Thread& t : threads_) {
      t.now = end;
      while (!t.open.empty()) {
        Close(t);
      }
    }
    static_cast<void>(writer_.End(Nanos(end), Accounting{}, EndInfo{}));
  }
  void Save(const std::string& folder, const std::string& name) const {
    std::ofstream(folder + "/" + name + ".pftrace", std::ios::binary) << sink.bytes();
    std::ofstream(folder + "/" + name + ".slices.json") << fmt::format("[{}]\n", fmt::join(rows_, ",\n"));
  }
  const std::vector<std::string>& rows() const { return rows_; }

  MemorySink sink;

 private:
  struct Call {
    std::string name;
    int64_t start;
    int which;
    uint64_t generator;
  };
  struct Thread {
    ThreadHandle handle;
    int tid = 0;
    int64_t now = 0;
    std::vector<Call> open;
  };

  static std::string Row(const Thread& t, const std::string& name, int64_t start, int64_t length, size_t depth) {
    return fmt::format("[{}, \"{}\", {}, {}, {}]", t.tid, name, start, length, depth);
  }
  void Close(Thread& t) {
    const Call call = t.open.back();
    t.open.pop_back();
    rows_.push_back(Row(t, call.name, call.start, t.now - call.start, t.open.size() % kLevelDepth));
  }
  void SetState(Thread& t, int step) {
    static const StateInfo kStates[] = {{ThreadState::kRunning, true, ""}, {ThreadState::kGilWait, false, ""}};
    writer_.SetState(t.handle, Nanos(t.now), kStates[step % 2]);
  }

  StackTable stacks_;
  TraceWriter writer_;
  std::vector<Thread> threads_;
  std::vector<std::string> rows_;
};

}  // namespace

void MakeCallTraces(const std::string& folder) {
  Callers calls(6000, 3, kStart);
  calls.Run(60'000, 1);
  calls.Finish();
  calls.Save(folder, "calls");

  Callers deep(6100, 1, kStart);
  deep.Recurse(5000);
  deep.Finish();
  deep.Save(folder, "deep_calls");
}

}  // namespace ptrace_prof
