// Any records through CallReplayer, TraceWriter and TraceReader: calls nest, times never go back, and what comes out of
// the stream is what went in.
//
// The first byte chooses how records are encoded (raw, or in four bytes each, so that few bytes go far), the snapshot,
// and the size of the pieces.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <vector>

#include "daemon/collector/calls/call_replayer.h"
#include "daemon/collector/calls/trace_call_sink.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

class Anything : public CalledObjects {
 public:
  std::optional<Frame> Code(RemoteAddr code) override {
    return code.value % 16 == 9 ? std::nullopt : std::optional(Named("code", code));
  }
  std::optional<Frame> Module(RemoteAddr, RemoteAddr self) override { return Named("module", self); }
  std::optional<Frame> Callable(RemoteAddr callable, RemoteAddr) override {
    return callable.value % 4 == 3 ? std::nullopt : std::optional(Named("callable", callable));
  }
  std::optional<Frame> Type(RemoteAddr type) override {
    return type.value % 4 == 3 ? std::nullopt : std::optional(Named("class", type));
  }
  void Changed(const std::vector<RemoteAddr>& codes, std::vector<RemoteAddr>* changed) override {
    changed->insert(changed->end(), codes.begin(), codes.begin() + static_cast<ptrdiff_t>(codes.size() / 2));
  }

 private:
  static Frame Named(const char* name, RemoteAddr address) {
    Frame frame;
    frame.function = name + std::to_string(address.value % 64);
    return frame;
  }
};

// All tags, and one that does not exist.
#define PP_TAG_VALUE(with, name, tag, roles) tag,
constexpr uint32_t kTags[] = {PP_FOR_EACH_TAG(PP_TAG_VALUE, 0) PP_TAG_MASK};
#undef PP_TAG_VALUE

struct Event {
  bool begins;
  Nanos when;
  int how;
  bool operator==(const Event&) const = default;
};

// Between the replayer and the trace: checks that calls nest.
class Checking : public CallSink {
 public:
  explicit Checking(CallSink& next) : next_(next) {}
  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator) override {
    Note({true, when, static_cast<int>(entry)});
    next_.Begin(when, function, entry, generator);
  }
  void End(Nanos when, CallExit exit) override {
    Require(depth > 0);
    Note({false, when, static_cast<int>(exit)});
    next_.End(when, exit);
  }
  void Lost(Nanos from, Nanos to, uint64_t lost) override {
    Note({true, from, static_cast<int>(CallEntry::kGap)});
    Note({false, to, 0});
    next_.Lost(from, to, lost);
  }

  std::vector<Event> events;
  int64_t depth = 0;

 private:
  void Note(const Event& event) {
    Require(events.empty() || event.when >= events.back().when);
    depth += event.begins ? 1 : -1;
    events.push_back(event);
  }
  CallSink& next_;
};

class Reading : public TraceVisitor {
 public:
  void OnCallBegin(TrackId, Nanos when, StackId, CallEntry entry, GeneratorId) override {
    events.push_back({true, when, static_cast<int>(entry)});
  }
  void OnCallEnd(TrackId, Nanos when, StackId, CallExit exit) override {
    events.push_back({false, when, static_cast<int>(exit)});
  }
  std::vector<Event> events;
};

std::vector<pp_record> Records(std::span<const uint8_t> bytes, bool raw) {
  std::vector<pp_record> records;
  const size_t each = raw ? sizeof(pp_record) : 4;
  uint64_t now = 0;
  for (; bytes.size() >= each; bytes = bytes.subspan(each)) {
    pp_record record{};
    if (raw) {
      std::memcpy(&record, bytes.data(), sizeof(record));
    } else {
      now += bytes[2];
      const uint64_t sign = (bytes[3] & 0x80) != 0 ? ~uint64_t{0x7f} : 0;  // small negative numbers too
      record = {PP_WHEN_TAG(now, kTags[bytes[0] % std::size(kTags)]),
                (sign | bytes[3]) ^ (bytes[1] & 1u ? 0 : bytes[1])};
      if (PP_TAG(record.when_tag) == PP_TAG_EXTENDED) {
        record.value = PP_EXTENDED(bytes[1], bytes[3] % (PP_MAX_UNITS + 2), 0);
      }
    }
    records.push_back(record);
  }
  return records;
}

void Run(std::span<const uint8_t> bytes) {
  const uint8_t control = bytes[0];
  MemorySink sink;
  StackTable stacks;
  CaptureTask request;
  SetTarget(Pid(1), &request);
  TraceWriter writer(sink, stacks, request, TraceOrigin{});
  writer.AddProcess(ProcessInfo{.pid = Pid(1)});
  TraceCallSink calls(writer, writer.AddThread(ThreadInfo{.pid = Pid(1), .tid = Tid(1)}));
  Checking checking(calls);
  Anything objects;
  v1::TraceOptions options;
  options.add_exclude("code1*");
  options.add_exclude("callable2?");
  CallFilter filter(options);
  CallNames names(stacks, objects, (control & 32) != 0 ? &filter : nullptr);
  CallContext context{.names = names};
  CallReplayer replayer(context, checking, Nanos(1));
  ThreadSnapshot snapshot;
  for (uint64_t i = 0; i < (control >> 2) % 4; ++i) {
    const RemoteAddr self(control & 32 ? i : 0);
    snapshot.frames.push_back({RemoteAddr(i / 2), RemoteAddr(i + 1), self, (control & 16) != 0});
  }
  snapshot.unarmed_frame = RemoteAddr(control % 3);
  snapshot.unarmed_tag = control % 7;
  snapshot.unarmed_pending = (control & 64) != 0;
  replayer.Start(snapshot);
  names.Exclude(RemoteAddr(5));
  const std::vector<pp_record> records = Records(bytes.subspan(1), (control & 1) != 0);
  const size_t piece = (control & 2) != 0 ? 1 + control / 8 : SIZE_MAX;
  for (std::span<const pp_record> rest = records; !rest.empty();) {
    const auto part = rest.first(std::min(piece, rest.size()));
    replayer.Feed(part, TickMap::Monotonic(), Nanos(INT64_MAX / 2));
    names.Revalidate();
    rest = rest.subspan(part.size());
  }
  replayer.Finish(Nanos(INT64_MAX / 2));
  Require(checking.depth == 0 && context.open_calls == 0 && replayer.depth() == 0);
  Require(writer.End(Nanos(INT64_MAX / 2), Accounting{}, EndInfo{}).has_value());
  Reading reading;
  TraceReader reader(reading);
  Require(reader.Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
  Require(reader.skipped() == 0 && reading.events == checking.events);
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 0) {
    ptrace_prof::Run({data, size});
  }
  return 0;
}
