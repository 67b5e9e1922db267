// Any bytes as records of the torch hook, in pieces of any size, on two rings: what comes out is bounded and
// consistent, survives a trace, and says nothing that cannot be.
//
// The first byte chooses whether the layout is known from the start, and the size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "daemon/collector/torch/torch_decoder.h"
#include "daemon/export/operator_totals.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/fuzz/fake_memory.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kNow(1'000'000'000);
constexpr uint64_t kSchema = FakeMemory::kBase + 0x100;
constexpr uint64_t kText = FakeMemory::kBase + 0x400;

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

class Checking : public TraceVisitor {
 public:
  void OnOperator(TrackId track, const Operator& one) override {
    ++operators;
    Require(one.begin <= one.end && static_cast<size_t>(one.scope) < kOperatorScopes && one.sequence >= -1);
    totals.Add(track, one);
  }
  size_t operators = 0;
  OperatorTotals totals{OperatorGrouping::kShape};
};

// A schema that a row can read: "aten::mm".
void Fill(FakeMemory& memory) {
  constexpr std::string_view kName = "aten::mm";
  memory.Put(kSchema, kText);
  memory.Put(kSchema + sizeof(uint64_t), uint64_t{kName.size()});
  for (size_t i = 0; i < kName.size(); ++i) {
    memory.Put(kText + i, kName[i]);
  }
}

// Objects from which the layout is learnt.
void Teach(TorchDecoder& decoder) {
  const pp_torch_row& row = TorchRows().back().fields;
  for (uint64_t handle = 1; handle <= 16; ++handle) {
    pp_torch_raw raw{};
    const auto put = [&raw](size_t at, auto value) { std::memcpy(raw.object + at, &value, sizeof value); };
    put(PP_TORCH_AT_FUNCTION, kSchema);
    put(row.function_index, uint8_t{PP_TORCH_FN_SCHEMA});
    put(row.sequence, int64_t{-1});
    put(row.handle, handle);
    std::vector<pp_record> records(1 + sizeof raw / sizeof(pp_record));
    records[0] = {PP_WHEN_TAG(handle, PP_TAG_EXTENDED),
                  PP_EXTENDED(PP_EXTENDED_OP_RAW, sizeof raw / sizeof(pp_unit), handle)};
    std::memcpy(&records[1], &raw, sizeof raw);
    records.push_back({PP_WHEN_TAG(handle, PP_TAG_EXTENDED), PP_EXTENDED(PP_EXTENDED_OP_END, 0, handle)});
    decoder.Feed(0, Tid(7), 1, records, TickMap::Monotonic(), kNow);
  }
  Require(decoder.row() != nullptr);
}

}  // namespace

void FuzzOne(const uint8_t* data, size_t size) {
  if (size < 1) {
    return;
  }
  const uint8_t how = data[0];
  std::vector<pp_record> records((size - 1) / sizeof(pp_record));
  if (!records.empty()) {
    std::memcpy(records.data(), data + 1, records.size() * sizeof(pp_record));
  }
  MemorySink sink;
  StackTable stacks;
  CaptureTask request;
  SetTarget(Pid(7), &request);
  TraceWriter writer(sink, stacks, request);
  writer.AddProcess({.pid = Pid(7), .name = "python"});
  const ThreadHandle thread = writer.AddThread({.pid = Pid(7), .tid = Tid(7), .ns_tid = Tid(7), .name = "main"});
  FakeMemory memory;
  Fill(memory);
  size_t written = 0;
  size_t allocations = 0;
  TorchDecoder decoder(memory, {[&](Tid, const Operator& one) {
                                  Require(one.begin <= one.end && one.end <= kNow);
                                  ++written;
                                  writer.AddOperator(thread, one);
                                },
                                [&](Tid, const Allocation& one) {
                                  Require(one.when <= kNow);
                                  allocations += one.was_there ? 0 : 1;
                                  writer.AddAllocation(thread, one);
                                }});
  if ((how & 1) != 0) {
    Teach(decoder);
  }
  memory.DisturbFrom(how & 2);
  const size_t piece = size_t{1} + (how >> 2 & 7) * 5;
  for (size_t at = 0, turn = 0; at < records.size(); at += piece, ++turn) {
    const size_t ring = how >> 5 == 0 ? 0 : turn / (how >> 5) % 2;
    decoder.Feed(ring, Tid(7), 1 + ring, std::span(records).subspan(at, std::min(piece, records.size() - at)),
                 TickMap::Monotonic(), kNow);
  }
  decoder.EndRing(1, kNow, OperatorEnd::kOpen);
  decoder.Finish(kNow);
  Require(written == decoder.counts().operators && written <= records.size() + 16);
  Require(allocations == decoder.counts().allocations && allocations <= records.size());
  Require(writer.End(kNow, {}, {}).has_value());
  Checking checking;
  TraceReader reader(checking);
  Require(reader.Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
  Require(reader.skipped() == 0 && checking.operators == written);
  (void)checking.totals.Rows();
}

}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ptrace_prof::FuzzOne(data, size);
  return 0;
}
