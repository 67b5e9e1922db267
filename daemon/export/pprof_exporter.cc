// pprof's profile.proto, compressed: aggregated stacks with sample counts (or counts of exact calls) and wall time,
// labelled by thread.
//
// Field numbers are those of pprof.proto in this folder; the encoder is that of the trace.
#include <map>

#include "daemon/export/format_exporter.h"
#include "daemon/export/function_table.h"
#include "daemon/export/gzip_stream.h"
#include "daemon/export/stack_totals.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {
namespace {

namespace profile {
enum : int { kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5, kStringTable = 6 };
enum : int { kDurationNanos = 10, kPeriodType = 11, kPeriod = 12, kComment = 13, kDefaultSampleType = 14 };
}  // namespace profile
namespace value_type {
enum : int { kType = 1, kUnit = 2 };
}
namespace sample {
enum : int { kLocationId = 1, kValue = 2, kLabel = 3 };
}
namespace label {
enum : int { kKey = 1, kStr = 2, kNum = 3 };
}
namespace mapping {
enum : int { kId = 1, kFilename = 5, kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9 };
}
namespace location {
enum : int { kId = 1, kMappingId = 2, kLine = 4 };
}
namespace line {
enum : int { kFunctionId = 1, kLine = 2 };
}
namespace function {
enum : int { kId = 1, kName = 2, kFilename = 4, kStartLine = 5 };
}

constexpr uint32_t kNoFunction = UINT32_MAX;  // of a sample with an empty stack

class PprofExporter : public FormatExporter {
 public:
  explicit PprofExporter(ExportContext context) : context_(std::move(context)), functions_(context_.stacks, false) {}

  void OnSpan(const Span& span) override { totals_.Add(span); }
  Result<void> Finish() override;

 private:
  uint64_t String(const std::string& text);
  uint64_t LocationOf(FrameId frame);
  void WriteType(int field, const std::string& type, const std::string& unit);
  void WriteLabel(const std::string& key, const std::string& text);
  void WriteLabel(const std::string& key, int64_t number);
  void WriteSample(const StackTotal& total);
  void WriteTables();
  void Drain(GzipStream::Flush flush);

  ExportContext context_;
  FunctionTable functions_;
  StackTotals totals_;
  GzipStream gzip_;
  WireEncoder wire_;
  std::map<std::string, uint64_t> string_ids_;
  std::vector<std::string> strings_;
  std::map<std::pair<uint32_t, int32_t>, uint64_t> locations_;  // (function, line) → id
  std::vector<uint64_t> path_;
};

uint64_t PprofExporter::String(const std::string& text) {
  const auto [entry, is_new] = string_ids_.try_emplace(text, strings_.size());
  if (is_new) {
    strings_.push_back(text);
  }
  return entry->second;
}

uint64_t PprofExporter::LocationOf(FrameId frame) {
  const int32_t at = std::max(context_.stacks.frame(frame).line, 0);
  return locations_.try_emplace({functions_.IdOf(frame), at}, locations_.size() + 1).first->second;
}

void PprofExporter::Drain(GzipStream::Flush flush) {
  if (flush == GzipStream::Flush::kFinish || wire_.buffer().size() > 64 * 1024) {
    gzip_.Write(wire_.buffer(), flush, [this](std::string_view bytes) { context_.out.Write(bytes); });
    wire_.Clear();
  }
}

void PprofExporter::WriteType(int field, const std::string& type, const std::string& unit) {
  wire_.Message(field, [&] {
    wire_.Varint(value_type::kType, String(type));
    wire_.Varint(value_type::kUnit, String(unit));
  });
}

void PprofExporter::WriteLabel(const std::string& key, const std::string& text) {
  wire_.Message(sample::kLabel, [&] {
    wire_.Varint(label::kKey, String(key));
    wire_.Varint(label::kStr, String(text));
  });
}

void PprofExporter::WriteLabel(const std::string& key, int64_t number) {
  wire_.Message(sample::kLabel, [&] {
    wire_.Varint(label::kKey, String(key));
    wire_.SignedVarint(label::kNum, number);
  });
}

void PprofExporter::WriteSample(const StackTotal& total) {
  path_.clear();
  for (StackId stack = total.stack; stack != kEmptyStack; stack = context_.stacks.parent(stack)) {
    path_.push_back(LocationOf(context_.stacks.leaf(stack)));
  }
  if (path_.empty()) {
    // Readers need at least one location.
    path_.push_back(locations_.try_emplace({kNoFunction, 0}, locations_.size() + 1).first->second);
  }
  const ThreadInfo& thread = context_.recording.threads[total.track.value].info;
  wire_.Message(profile::kSample, [&] {
    for (const uint64_t id : path_) {
      wire_.Varint(sample::kLocationId, id);
    }
    wire_.Varint(sample::kValue, context_.recording.exact ? total.calls : total.samples);
    wire_.SignedVarint(sample::kValue, total.time.value);
    WriteLabel("thread", ThreadLabel(context_.recording.threads[total.track.value]));
    WriteLabel("thread_id", thread.tid.value);
    WriteLabel("process", ProcessLabel(context_.recording, thread.pid));
    WriteLabel("process_id", thread.pid.value);
  });
  Drain(GzipStream::Flush::kNone);
}

void PprofExporter::WriteTables() {
  for (const auto& [key, id] : locations_) {
    wire_.Message(profile::kLocation, [&, &where = key, number = id] {
      wire_.Varint(location::kId, number);
      wire_.Varint(location::kMappingId, 1);
      wire_.Message(location::kLine, [&] {
        wire_.Varint(line::kFunctionId, where.first == kNoFunction ? functions_.size() + 1 : where.first + 1);
        wire_.VarintIfSet(line::kLine, static_cast<uint64_t>(where.second));
      });
    });
    Drain(GzipStream::Flush::kNone);
  }
  for (uint32_t id = 0; id <= functions_.size(); ++id) {
    const bool known = id < functions_.size();
    const Function info = known ? functions_.function(id) : Function{.name = "[no Python frame]"};
    wire_.Message(profile::kFunction, [&] {
      wire_.Varint(function::kId, id + 1);
      wire_.Varint(function::kName, String(info.name.empty() ? "<unnamed>" : info.name));
      // No system name: if it equals the name, go tool pprof takes "<module>" for a C++ template argument.
      wire_.Varint(function::kFilename, String(info.file));
      wire_.VarintIfSet(function::kStartLine, static_cast<uint64_t>(info.line));
    });
    Drain(GzipStream::Flush::kNone);
  }
}

Result<void> PprofExporter::Finish() {
  if (!gzip_.ready()) {
    return Error{Code::kResourceExhausted, "zlib could not be set up: no memory", ""};
  }
  const Recording& recording = context_.recording;
  String("");  // the string table must begin with ""
  WriteType(profile::kSampleType, recording.exact ? "calls" : "samples", "count");
  WriteType(profile::kSampleType, "wall", "nanoseconds");
  wire_.Message(profile::kMapping, [&] {
    wire_.Varint(mapping::kId, 1);
    wire_.Varint(mapping::kFilename, String(TitleOf(recording, context_.options.title)));
    wire_.Varint(mapping::kHasFunctions, 1);
    wire_.Varint(mapping::kHasFilenames, 1);
    wire_.Varint(mapping::kHasLineNumbers, 1);
  });
  for (const StackTotal& total : totals_.Sorted()) {
    WriteSample(total);
  }
  WriteTables();
  wire_.SignedVarint(profile::kDurationNanos, (recording.last - recording.first).value);
  WriteType(profile::kPeriodType, "wall", "nanoseconds");
  if (recording.accounting && recording.accounting->actual_rate_hz > 0) {
    wire_.SignedVarint(profile::kPeriod, Nanos::FromSeconds(1 / recording.accounting->actual_rate_hz).value);
  }
  for (const auto& [name, value] : FactsOf(recording)) {
    wire_.Varint(profile::kComment, String(name + ": " + value));
  }
  for (const std::string& caution : CautionsOf(recording)) {
    wire_.Varint(profile::kComment, String(caution));
  }
  wire_.Varint(profile::kDefaultSampleType, String("wall"));
  for (const std::string& text : strings_) {
    wire_.Bytes(profile::kStringTable, text);
    Drain(GzipStream::Flush::kNone);
  }
  Drain(GzipStream::Flush::kFinish);
  return {};
}

}  // namespace

std::unique_ptr<FormatExporter> MakePprofExporter(ExportContext context) {
  return std::make_unique<PprofExporter>(std::move(context));
}

}  // namespace ptrace_prof
