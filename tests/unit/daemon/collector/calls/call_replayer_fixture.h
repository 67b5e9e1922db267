// Records of one thread as letters, and the resulting calls as text: the basis of the tests of CallReplayer.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/collector/calls/call_replayer.h"

namespace ptrace_prof {

// Code objects are letters: 'f' is the code object at address 'f'. 'L' is len; '?' can no longer be read.
class Letters : public CalledObjects {
 public:
  std::optional<Frame> Code(RemoteAddr code) override {
    ++reads;
    if (code.value == '?') {
      return std::nullopt;
    }
    Frame frame;
    frame.function = described[code.value] = NameOf(code);
    return frame;
  }
  std::string NameOf(RemoteAddr code) {
    return renamed.contains(code.value) ? renamed[code.value] : std::string(1, static_cast<char>(code.value));
  }
  std::optional<Frame> Module(RemoteAddr, RemoteAddr self) override {
    Frame frame;
    frame.function = fmt::format("nn.Module: Linear_{}", self.value);
    frame.kind = FrameKind::kModule;
    return frame;
  }
  std::optional<Frame> Type(RemoteAddr) override {
    Frame frame;
    frame.function = "function";
    return frame;
  }
  std::optional<Frame> Callable(RemoteAddr, RemoteAddr) override {
    Frame frame;
    frame.function = "len";
    frame.kind = FrameKind::kC;
    return frame;
  }
  void Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) override {
    checks.push_back(codes.size());
    for (const RemoteAddr code : codes) {
      if (NameOf(code) != described[code.value]) {
        changed->push_back(code);
      }
    }
  }
  int reads = 0;
  std::vector<size_t> checks;  // how many in each check
  std::map<uint64_t, std::string> described;
  std::map<uint64_t, std::string> renamed;
};

// Writes calls as text and checks that they nest and that time never goes back.
class Lines : public CallSink {
 public:
  explicit Lines(const StackTable& stacks) : stacks_(stacks) {}
  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    Check(when);
    static constexpr const char* kEntries[] = {"", " resumed", " thrown", " running", " gap"};
    text += fmt::format("{}{}({}{}", Gap(), when.value, stacks_.frame(function).function,
                        kEntries[static_cast<size_t>(entry)]);
    text += generator.value != 0 ? fmt::format(" g{}", generator.value) : "";
    ++depth;
  }
  void End(Nanos when, CallExit exit) override {
    Check(when);
    static constexpr const char* kExits[] = {")", ")yield", ")unwind", ")cut", ")lost"};
    ASSERT_GT(depth, 0);
    --depth;
    text += fmt::format("{}{}{}", Gap(), when.value, kExits[static_cast<size_t>(exit)]);
  }
  void Lost(Nanos from, Nanos to, uint64_t events) override {
    Check(from);
    Check(to);
    text += fmt::format("{}{}-{}[{} lost]", Gap(), from.value, to.value, events);
  }
  void StepEnded(Nanos when) override { text += fmt::format("{}{}step", Gap(), when.value); }

  std::string text;
  int depth = 0;

 private:
  void Check(Nanos when) {
    EXPECT_GE(when, last_);
    last_ = when;
  }
  const char* Gap() const { return text.empty() ? "" : " "; }
  const StackTable& stacks_;
  Nanos last_;
};

struct Said {
  uint32_t tag;
  uint64_t value;
  int64_t when = -1;  // one later than the one before
};

class CallReplayerTest : public testing::Test {
 public:
  std::string Replay(const std::vector<Said>& said, const ThreadSnapshot& snapshot = {}, size_t piece = SIZE_MAX) {
    std::vector<pp_record> records;
    int64_t at = 0;
    for (const Said& one : said) {
      const bool note = PP_TAG_IS(one.tag, PP_SAYS_MORE) != 0;
      at = one.when >= 0 ? one.when : at + (note ? 0 : 1);
      records.push_back({PP_WHEN_TAG(at, one.tag), one.value});
    }
    return ReplayRecords(records, snapshot, piece);
  }
  std::string ReplayRecords(std::span<const pp_record> records, const ThreadSnapshot& snapshot = {},
                            size_t piece = SIZE_MAX) {
    Lines lines(stacks);
    CallReplayer replayer(context, lines, Nanos(0));
    if (!snapshot.frames.empty()) {
      replayer.Start(snapshot);
    }
    replayer.SetFirstFrame(first_frame);
    while (!records.empty()) {
      const auto part = records.first(std::min(piece, records.size()));
      replayer.Feed(part, TickMap::Monotonic(), Nanos(1'000'000));
      records = records.subspan(part.size());
    }
    replayer.Finish(Nanos(1'000'000));
    EXPECT_EQ(lines.depth, 0);
    EXPECT_EQ(context.open_calls, 0);
    return lines.text;
  }
  static ThreadSnapshot Standing(const std::string& frames, bool at_beginning = false) {
    ThreadSnapshot snapshot;
    for (size_t i = 0; i < frames.size(); ++i) {
      snapshot.frames.push_back({RemoteAddr(static_cast<uint64_t>(frames[i])), RemoteAddr(0x1000 * (i + 1))});
    }
    snapshot.frames.back().at_beginning = at_beginning;
    return snapshot;
  }

  StackTable stacks;
  Letters letters;
  CallNames names{stacks, letters};
  CallContext context{.names = names};
  RemoteAddr first_frame;
};

}  // namespace ptrace_prof
