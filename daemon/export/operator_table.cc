// The operators of PyTorch as a table with the columns of torch.profiler's key_averages().table(): text, JSON or CSV.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "attach/base/clean_text.h"
#include "daemon/export/format_exporter.h"
#include "daemon/export/gpu_totals.h"
#include "daemon/export/json_output.h"
#include "daemon/export/markup.h"
#include "daemon/export/number_text.h"
#include "daemon/export/operator_groups.h"
#include "daemon/export/operator_totals.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostName = 55;  // characters, as in torch.profiler
constexpr size_t kMostGroup = 100;

// As torch.profiler writes times.
std::string TimeText(Nanos time) {
  const auto micros = static_cast<double>(time.value) / 1e3;
  return micros >= 1e6   ? fmt::format("{:.3f}s", micros / 1e6)
         : micros >= 1e3 ? fmt::format("{:.3f}ms", micros / 1e3)
                         : fmt::format("{:.3f}us", micros);
}

// What rows are grouped by, apart from the name.
struct GroupColumn {
  OperatorGrouping grouping;
  std::string_view title;
  std::string_view member;
};
constexpr GroupColumn kGroupColumns[] = {{OperatorGrouping::kShape, "Input Shapes", "input_shapes"},
                                         {OperatorGrouping::kOverload, "Overload Name", "overload"},
                                         {OperatorGrouping::kStack, "Source Location", "stack"},
                                         {OperatorGrouping::kModule, "Module", "module"},
                                         {OperatorGrouping::kStep, "Step", "step"}};

struct FlopsUnit {
  double flops;
  std::string_view title;
};
constexpr FlopsUnit kFlopsUnits[] = {
    {1e12, "Total TFLOPs"}, {1e9, "Total GFLOPs"}, {1e6, "Total MFLOPs"}, {1e3, "Total KFLOPs"}};

class OperatorTable : public FormatExporter {
 public:
  explicit OperatorTable(ExportContext context)
      : context_(std::move(context)), options_(*context_.options.table), totals_(options_.grouping) {}

  void OnSpan(const Span& span) override {
    if (OperatorGroups* kept = Kept()) {
      kept->OnSpan(span);
    }
  }
  void OnSample(TrackId track, Nanos when, StackId stack) override {
    if (OperatorGroups* kept = Kept()) {
      kept->OnSample(track, when, stack);
    }
  }
  void OnOperator(TrackId track, const Operator& one) override {
    if (OperatorGroups* kept = Kept()) {
      kept->Add(track, one, totals_.Flops(one), HasLateGroups() ? std::nullopt : std::optional(totals_.GroupOf(one)));
    } else {
      totals_.Add(track, one);
    }
  }
  void OnGpuApiCall(TrackId track, const GpuApiCall& call) override {
    if (OperatorGroups* kept = Kept()) {
      kept->Add(track, call);
    }
  }
  void OnGpuOperation(GpuQueueId queue, const GpuOperation& operation) override {
    OperatorGroups* kept = Kept();
    if (kept != nullptr && TakesGpuTime(operation.kind)) {
      const OperatorThread thread = {context_.recording.gpu_queues[queue.value].pid.value, operation.launched_by.value};
      kept->Add(thread, operation);
      GpuWork& work = device_work_[{thread, operation.name}];
      work.Add(operation.end - operation.begin);
    }
  }

  Result<void> Finish() override {
    if (groups_.has_value()) {
      groups_->Finish([this](TrackId track, const Operator& one, uint64_t flops, const std::string& group,
                             Nanos device) { totals_.Add(track, one, flops, group, device); });
    }
    if (context_.recording.operators == 0) {
      return Error{Code::kNotFound, "the trace has no operators of PyTorch",
                   "record with --torch on, or with --mode trace while PyTorch is loaded"};
    }
    AddDeviceWork();
    PP_RETURN_IF_ERROR(CheckGrouping());
    rows_ = totals_.Rows(options_.order);
    for (const OperatorRow& row : rows_) {
      all_ = all_ + row.self;
      all_device_ = all_device_ + (row.kind == OperatorRowKind::kDevice ? row.self_device : Nanos());
      most_flops_ = std::max(most_flops_, row.flops);
    }
    if (options_.rows > 0 && rows_.size() > options_.rows) {
      left_out_ = rows_.size() - options_.rows;
      rows_.resize(options_.rows);
    }
    switch (options_.form) {
      case TableForm::kText: WriteText(); break;
      case TableForm::kJson: WriteJson(); break;
      case TableForm::kCsv: WriteCsv(); break;
      case TableForm::kStacks: WriteStacks(); break;
    }
    return {};
  }

 private:
  Result<void> CheckGrouping() const {
    const Recording& recording = context_.recording;
    if (options_.grouping == OperatorGrouping::kShape && !totals_.has_inputs()) {
      return Error{Code::kNotFound, "the trace does not say what the operators got", "record with --record-shapes"};
    }
    if (options_.grouping == OperatorGrouping::kModule && !recording.exact) {
      return Error{Code::kNotFound, "the trace does not say which nn.Module is called", "record with --mode trace"};
    }
    if (options_.grouping == OperatorGrouping::kStep && recording.steps.empty()) {
      return Error{Code::kNotFound, "the trace has no steps of a training loop", "record with --mode trace"};
    }
    return {};
  }
  bool HasLateGroups() const {
    return options_.grouping == OperatorGrouping::kStack || options_.grouping == OperatorGrouping::kModule ||
           options_.grouping == OperatorGrouping::kStep;
  }
  // Null: nothing waits for the end of the trace.
  OperatorGroups* Kept() {
    if (!groups_.has_value() && (HasLateGroups() || MayHaveGpu(context_.recording))) {
      groups_.emplace(options_, context_.recording, context_.stacks);
    }
    return groups_.has_value() ? &*groups_ : nullptr;
  }
  // What the GPU did, if all threads are wanted, or for those that are.
  void AddDeviceWork() {
    std::set<OperatorThread> wanted;
    for (const RecordedThread& thread : context_.recording.threads) {
      if (thread.selected) {
        wanted.emplace(thread.info.pid.value, thread.info.tid.value);
      }
    }
    for (const auto& [key, work] : device_work_) {
      if (context_.options.threads.empty() || wanted.contains(key.first)) {
        totals_.AddDevice(key.second, work.count, work.time);
      }
    }
  }
  static double Percent(Nanos part, Nanos all) {
    return 100 * static_cast<double>(part.value) / static_cast<double>(std::max<int64_t>(all.value, 1));
  }
  static std::string NameOf(const OperatorRow& row) {
    return row.name.empty() ? std::string("[unreadable name]") : CleanText(row.name);
  }
  static Nanos MeanOf(Nanos total, uint64_t count) { return Nanos(total.value / static_cast<int64_t>(count)); }

  const FlopsUnit& Unit() const {
    for (const FlopsUnit& unit : kFlopsUnits) {
      if (static_cast<double>(most_flops_) >= unit.flops) {
        return unit;
      }
    }
    return kFlopsUnits[std::size(kFlopsUnits) - 1];
  }

  using Value = std::variant<std::string, int64_t, double, bool>;
  struct Column {
    std::string_view title;   // in the text; empty: not there
    std::string_view member;  // in JSON and CSV; empty: not there
    std::function<std::string(const OperatorRow&)> text;
    std::function<Value(const OperatorRow&)> value;
  };

  static Column Time(std::string_view title, std::string_view member, Nanos OperatorRow::*time) {
    return {title, member, [time](const OperatorRow& row) { return TimeText(row.*time); },
            [time](const OperatorRow& row) { return static_cast<double>((row.*time).value) / 1e3; }};
  }
  // `all`: what the shares add up to.
  static Column Share(std::string_view title, Nanos OperatorRow::*time, Nanos all) {
    return {title, "", [=](const OperatorRow& row) { return fmt::format("{:.2f}%", Percent(row.*time, all)); }, {}};
  }
  static Column Mean(std::string_view title, Nanos OperatorRow::*total) {
    return {title, "", [total](const OperatorRow& row) { return TimeText(MeanOf(row.*total, row.count)); }, {}};
  }
  static Column Memory(std::string_view title, std::string_view member, int64_t OperatorRow::*bytes) {
    return {title, member, [bytes](const OperatorRow& row) { return BytesText(row.*bytes); },
            [bytes](const OperatorRow& row) { return row.*bytes; }};
  }

  // In the order of torch.profiler.
  std::vector<Column> Columns() const {
    std::vector<Column> columns = {
        {"Name", "name", [](const OperatorRow& row) { return Shortened(NameOf(row), kMostName); }, NameOf},
        Share("Self CPU %", &OperatorRow::self, all_),
        Time("Self CPU", "self_cpu_time_us", &OperatorRow::self),
        Share("CPU total %", &OperatorRow::total, all_),
        Time("CPU total", "cpu_time_total_us", &OperatorRow::total),
        Mean("CPU time avg", &OperatorRow::total)};
    if (totals_.has_device_time()) {
      columns.push_back(Time("Self CUDA", "self_device_time_us", &OperatorRow::self_device));
      columns.push_back(Share("Self CUDA %", &OperatorRow::self_device, all_device_));
      columns.push_back(Time("CUDA total", "device_time_total_us", &OperatorRow::total_device));
      columns.push_back(Mean("CUDA time avg", &OperatorRow::total_device));
      columns.push_back(
          {"", "is_device", {}, [](const OperatorRow& row) { return row.kind == OperatorRowKind::kDevice; }});
    }
    if (totals_.has_memory()) {
      columns.push_back(Memory("CPU Mem", "cpu_memory", &OperatorRow::cpu_memory));
      columns.push_back(Memory("Self CPU Mem", "self_cpu_memory", &OperatorRow::self_cpu_memory));
    }
    if (totals_.has_device_memory()) {
      columns.push_back(Memory("Device Mem", "device_memory", &OperatorRow::device_memory));
      columns.push_back(Memory("Self Device Mem", "self_device_memory", &OperatorRow::self_device_memory));
    }
    columns.push_back({"# of Calls", "count", [](const OperatorRow& row) { return std::to_string(row.count); },
                       [](const OperatorRow& row) { return static_cast<int64_t>(row.count); }});
    columns.push_back(
        {"", "is_user_annotation", {}, [](const OperatorRow& row) { return row.kind == OperatorRowKind::kRange; }});
    if (const auto group = std::ranges::find(kGroupColumns, options_.grouping, &GroupColumn::grouping);
        group != std::end(kGroupColumns)) {
      columns.push_back({group->title, group->member,
                         [](const OperatorRow& row) { return Shortened(CleanText(row.group), kMostGroup); },
                         [](const OperatorRow& row) { return CleanText(row.group); }});
    }
    if (totals_.has_flops()) {
      const FlopsUnit& unit = Unit();
      columns.push_back({unit.title, "flops",
                         [&unit](const OperatorRow& row) {
                           return row.flops == 0 ? "--"
                                                 : fmt::format("{:.3f}", static_cast<double>(row.flops) / unit.flops);
                         },
                         [](const OperatorRow& row) { return static_cast<int64_t>(row.flops); }});
    }
    return columns;
  }

  void WriteText() {
    std::vector<Column> columns = Columns();
    std::erase_if(columns, [](const Column& column) { return column.title.empty(); });
    std::vector<std::vector<std::string>> lines(1);
    for (const Column& column : columns) {
      lines[0].emplace_back(column.title);
    }
    for (const OperatorRow& row : rows_) {
      std::vector<std::string>& line = lines.emplace_back();
      for (const Column& column : columns) {
        line.push_back(column.text(row));
      }
    }
    WriteAligned(lines);
    context_.out.Write(fmt::format("Self CPU time total: {}\n", TimeText(all_)));
    if (totals_.has_device_time()) {
      context_.out.Write(fmt::format("Self CUDA time total: {}\n", TimeText(all_device_)));
    }
    if (left_out_ > 0) {
      context_.out.Write(fmt::format("{} more rows: --row-limit shows them.\n", left_out_));
    }
    if (groups_.has_value() && groups_->left_out() > 0) {
      context_.out.Write(fmt::format("The last {} operators are not in the table: there was no room for them.\n",
                                     WithCommas(groups_->left_out())));
    }
    if (options_.grouping == OperatorGrouping::kStack && !context_.recording.exact) {
      context_.out.Write("Only operators during which a sample was taken have a stack: --mode trace records all.\n");
    }
    const Accounting* totals = context_.recording.accounting ? &*context_.recording.accounting : nullptr;
    if (totals != nullptr && totals->operators_lost > 0) {
      context_.out.Write(
          fmt::format("{} begins and ends of operators were lost.\n", WithCommas(totals->operators_lost)));
    }
  }

  // The first column to the left, all others to the right.
  void WriteAligned(const std::vector<std::vector<std::string>>& lines) {
    std::vector<size_t> widths(lines[0].size());
    for (const std::vector<std::string>& line : lines) {
      for (size_t i = 0; i < line.size(); ++i) {
        widths[i] = std::max(widths[i], line[i].size());
      }
    }
    std::string rule;
    for (const size_t width : widths) {
      rule += (rule.empty() ? "" : "  ") + std::string(width, '-');
    }
    for (const std::vector<std::string>& line : lines) {
      std::string text = fmt::format("{:<{}}", line[0], widths[0]);
      for (size_t i = 1; i < line.size(); ++i) {
        text += fmt::format("  {:>{}}", line[i], widths[i]);
      }
      context_.out.Write(text + "\n" + (&line == &lines[0] ? rule + "\n" : ""));
    }
    context_.out.Write(rule + "\n");
  }

  void WriteValue(JsonOutput& json, const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      json.Text(*text);
    } else if (const auto* number = std::get_if<int64_t>(&value)) {
      json.Int64(*number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      json.Double(*real);
    } else {
      json.Bool(std::get<bool>(value));
    }
  }

  void WriteJson() {
    const std::vector<Column> columns = Columns();
    JsonOutput json(context_.out);
    json.StartObject();
    json.Name("self_cpu_time_total_us");
    json.Double(static_cast<double>(all_.value) / 1e3);
    if (totals_.has_device_time()) {
      json.Name("self_device_time_total_us");
      json.Double(static_cast<double>(all_device_.value) / 1e3);
    }
    json.Name("rows");
    json.StartArray();
    for (const OperatorRow& row : rows_) {
      json.StartObject();
      for (const Column& column : columns) {
        if (!column.member.empty()) {
          json.Name(column.member);
          WriteValue(json, column.value(row));
        }
      }
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    context_.out.Put('\n');
  }

  static std::string CsvValue(const Value& value) {
    if (const auto* text = std::get_if<std::string>(&value)) {
      return CsvText(*text);
    }
    if (const auto* number = std::get_if<int64_t>(&value)) {
      return std::to_string(*number);
    }
    const auto* real = std::get_if<double>(&value);
    return real != nullptr ? fmt::format("{:.3f}", *real) : std::get<bool>(value) ? "1" : "0";
  }

  void WriteCsv() {
    std::vector<Column> columns = Columns();
    std::erase_if(columns, [](const Column& column) { return column.member.empty(); });
    const auto write = [&](const auto& text_of) {
      std::string line;
      for (const Column& column : columns) {
        line += (line.empty() ? "" : ",") + text_of(column);
      }
      context_.out.Write(line + "\n");
    };
    write([](const Column& column) { return std::string(column.member); });
    for (const OperatorRow& row : rows_) {
      write([&row](const Column& column) { return CsvValue(column.value(row)); });
    }
  }

  // As export_stacks() of torch.profiler: the stack, its root first, and the own time of its operators in microseconds,
  // on the CPU or on the GPU.
  void WriteStacks() {
    const bool is_device =
        options_.order == OperatorOrder::kSelfDevice || options_.order == OperatorOrder::kTotalDevice;
    std::map<std::string, Nanos> times;
    for (const OperatorRow& row : rows_) {
      if (row.kind != OperatorRowKind::kDevice) {
        times[row.group] = times[row.group] + (is_device ? row.self_device : row.self);
      }
    }
    for (const auto& [stack, time] : times) {
      if (time.value < 1000 || stack.starts_with('[')) {
        continue;  // it has no stack
      }
      std::string line;
      for (size_t end = stack.size(); end != std::string::npos;) {
        const size_t at = end > 0 ? stack.rfind(kFrameSeparator, end - 1) : std::string::npos;
        const size_t begin = at == std::string::npos ? 0 : at + kFrameSeparator.size();
        std::string frame = stack.substr(begin, end - begin);
        std::ranges::replace_if(
            frame, [](char c) { return c == ' ' || c == ';' || c == '\t' || c == '\n'; }, '_');
        line += (line.empty() ? "" : ";") + frame;
        end = at;
      }
      context_.out.Write(fmt::format("{} {}\n", line, time.value / 1000));
    }
  }

  ExportContext context_;
  const OperatorTableOptions options_;
  OperatorTotals totals_;
  std::optional<OperatorGroups> groups_;
  std::vector<OperatorRow> rows_;
  std::map<std::pair<OperatorThread, std::string_view>, GpuWork> device_work_;  // by launching thread and name
  Nanos all_;
  Nanos all_device_;
  uint64_t most_flops_ = 0;  // of a row
  size_t left_out_ = 0;
};

}  // namespace

std::unique_ptr<FormatExporter> MakeOperatorTable(ExportContext context) {
  return std::make_unique<OperatorTable>(std::move(context));
}

}  // namespace ptrace_prof
