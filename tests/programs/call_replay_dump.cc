// Replays records given as text and prints the resulting calls: for tests/integration/call_replay_test.py.
//
//   name ADDRESS TEXT    frame CODE ADDRESS    record TAG VALUE
//
// on standard input, frames root first. Prints a line for each begin and end: how many Python calls are open, the name,
// the kind of begin or end, and for a begin the number of its generator.
#include <fmt/format.h>

#include <iostream>
#include <map>
#include <string_view>
#include <vector>

#include "daemon/collector/calls/call_replayer.h"

namespace ptrace_prof {
namespace {

class Names : public CalledObjects {
 public:
  std::optional<Frame> Code(RemoteAddr code) override { return Named(code, FrameKind::kPython); }
  std::optional<Frame> Module(RemoteAddr, RemoteAddr) override { return std::nullopt; }
  std::optional<Frame> Callable(RemoteAddr callable, RemoteAddr method) override {
    return Named(method.IsNull() ? callable : method, FrameKind::kC);
  }
  std::optional<Frame> Type(RemoteAddr type) override { return Named(type, FrameKind::kC); }
  void Changed(const std::vector<RemoteAddr>&, std::vector<RemoteAddr>*) override {}

  std::map<uint64_t, std::string> names;

 private:
  std::optional<Frame> Named(RemoteAddr address, FrameKind kind) {
    const auto found = names.find(address.value);
    if (found == names.end()) {
      return std::nullopt;
    }
    Frame frame;
    frame.function = found->second;
    frame.kind = kind;
    return frame;
  }
};

class Printer : public CallSink {
 public:
  explicit Printer(const StackTable& stacks) : stacks_(stacks) {}
  void Begin(Nanos, FrameId function, CallEntry entry, GeneratorId generator) override {
    static constexpr const char* kEntries[] = {"call", "resume", "throw", "running", "gap"};
    const Frame& frame = stacks_.frame(function);
    const bool is_c = frame.kind == FrameKind::kC;
    open_.push_back(function);
    depth_ += is_c ? 0 : 1;
    fmt::print("begin {} {} {} {}\n", depth_, frame.function, is_c ? "c" : kEntries[static_cast<size_t>(entry)],
               generator.value);
  }
  void End(Nanos, CallExit exit) override {
    static constexpr const char* kExits[] = {"return", "yield", "unwind", "cut", "lost"};
    const Frame& frame = stacks_.frame(open_.back());
    fmt::print("end {} {} {}\n", depth_, frame.function, kExits[static_cast<size_t>(exit)]);
    depth_ -= frame.kind == FrameKind::kC ? 0 : 1;
    open_.pop_back();
  }
  void Lost(Nanos, Nanos, uint64_t events) override { fmt::print("lost {}\n", events); }

 private:
  const StackTable& stacks_;
  std::vector<FrameId> open_;
  int depth_ = 0;
};

uint64_t TagOf(std::string_view name) {
#define PP_NAMED_TAG(with, name, tag, roles) {#name, tag},
  static const std::map<std::string_view, uint64_t> kTags{PP_FOR_EACH_TAG(PP_NAMED_TAG, 0)};
#undef PP_NAMED_TAG
  return kTags.at(name);
}

int Replay() {
  StackTable stacks;
  Names objects;
  ThreadSnapshot snapshot;
  std::vector<pp_record> records;
  for (std::string word; std::cin >> word;) {
    uint64_t first = 0;
    if (word == "record") {
      std::string tag;
      std::cin >> tag;
      first = TagOf(tag);
    } else {
      std::cin >> first;
    }
    if (word == "name") {
      std::cin >> objects.names[first];
      continue;
    }
    uint64_t second = 0;
    std::cin >> second;
    if (word == "frame") {
      snapshot.frames.push_back({RemoteAddr(first), RemoteAddr(second)});
    } else {
      records.push_back({PP_WHEN_TAG(records.size() + 1, first), second});
    }
  }
  CallNames names(stacks, objects);
  CallContext context{.names = names};
  Printer printer(stacks);
  CallReplayer replayer(context, printer, Nanos(0));
  replayer.Start(snapshot);
  replayer.Feed(records, TickMap::Monotonic(), Nanos(INT64_MAX / 4));
  replayer.Finish(Nanos(INT64_MAX / 4));
  const CallCounts& counts = context.counts;
  fmt::print("counts unmatched {} implied {} reconciled {} strange {}\n", counts.unmatched_ends, counts.implied_ends,
             counts.reconciled, counts.strange);
  return 0;
}

}  // namespace
}  // namespace ptrace_prof

int main() { return ptrace_prof::Replay(); }
