// The operators of PyTorch as a table with the columns of torch.profiler's key_averages().table(): text, JSON or CSV.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "attach/base/clean_text.h"
#include "daemon/export/format_exporter.h"
#include "daemon/export/json_output.h"
#include "daemon/export/number_text.h"
#include "daemon/export/operator_totals.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostName = 55;  // characters, as in torch.profiler
constexpr size_t kMostSizes = 80;

// As torch.profiler writes times.
std::string TimeText(Nanos time) {
  const auto micros = static_cast<double>(time.value) / 1e3;
  return micros >= 1e6   ? fmt::format("{:.3f}s", micros / 1e6)
         : micros >= 1e3 ? fmt::format("{:.3f}ms", micros / 1e3)
                         : fmt::format("{:.3f}us", micros);
}

// In quotes where a reader would need them.
std::string CsvText(std::string text) {
  if (text.find_first_of(",\"\n") == std::string::npos) {
    return text;
  }
  for (size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return "\"" + text + "\"";
}

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

  void OnSpan(const Span& /*span*/) override {}
  void OnOperator(TrackId track, const Operator& one) override { totals_.Add(track, one); }

  Result<void> Finish() override {
    if (totals_.is_empty()) {
      return Error{Code::kNotFound, "the trace has no operators of PyTorch",
                   "record with --torch on, or with --mode trace while PyTorch is loaded"};
    }
    if (has_sizes() && !totals_.has_inputs()) {
      return Error{Code::kNotFound, "the trace does not say what the operators got", "record with --record-shapes"};
    }
    rows_ = totals_.Rows(options_.order);
    for (const OperatorRow& row : rows_) {
      all_ = all_ + row.self;
    }
    if (options_.rows > 0 && rows_.size() > options_.rows) {
      left_out_ = rows_.size() - options_.rows;
      rows_.resize(options_.rows);
    }
    switch (options_.form) {
      case TableForm::kText: WriteText(); break;
      case TableForm::kJson: WriteJson(); break;
      case TableForm::kCsv: WriteCsv(); break;
    }
    return {};
  }

 private:
  bool has_sizes() const { return options_.grouping == OperatorGrouping::kShape; }
  double Percent(Nanos part) const {
    return 100 * static_cast<double>(part.value) / static_cast<double>(std::max<int64_t>(all_.value, 1));
  }
  static std::string NameOf(const OperatorRow& row) {
    return row.name.empty() ? std::string("[unreadable name]") : CleanText(row.name);
  }
  static Nanos MeanOf(const OperatorRow& row) { return Nanos(row.total.value / static_cast<int64_t>(row.count)); }

  const FlopsUnit& Unit() const {
    const auto most = std::ranges::max_element(rows_, {}, &OperatorRow::flops);
    for (const FlopsUnit& unit : kFlopsUnits) {
      if (most != rows_.end() && static_cast<double>(most->flops) >= unit.flops) {
        return unit;
      }
    }
    return kFlopsUnits[std::size(kFlopsUnits) - 1];
  }

  void WriteText() {
    const FlopsUnit& unit = Unit();
    std::vector<std::vector<std::string>> lines = {
        {"Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"}};
    if (has_sizes()) {
      lines[0].emplace_back("Input Shapes");
    }
    if (totals_.has_flops()) {
      lines[0].emplace_back(unit.title);
    }
    for (const OperatorRow& row : rows_) {
      std::vector<std::string> line = {Shortened(NameOf(row), kMostName),
                                       fmt::format("{:.2f}%", Percent(row.self)),
                                       TimeText(row.self),
                                       fmt::format("{:.2f}%", Percent(row.total)),
                                       TimeText(row.total),
                                       TimeText(MeanOf(row)),
                                       std::to_string(row.count)};
      if (has_sizes()) {
        line.push_back(Shortened(CleanText(row.sizes), kMostSizes));
      }
      if (totals_.has_flops()) {
        line.push_back(row.flops == 0 ? "--" : fmt::format("{:.3f}", static_cast<double>(row.flops) / unit.flops));
      }
      lines.push_back(std::move(line));
    }
    WriteAligned(lines);
    context_.out.Write(fmt::format("Self CPU time total: {}\n", TimeText(all_)));
    if (left_out_ > 0) {
      context_.out.Write(fmt::format("{} more rows: --row-limit shows them.\n", left_out_));
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

  void WriteJson() {
    JsonOutput json(context_.out);
    json.StartObject();
    json.Name("self_cpu_time_total_us");
    json.Double(static_cast<double>(all_.value) / 1e3);
    json.Name("rows");
    json.StartArray();
    for (const OperatorRow& row : rows_) {
      json.StartObject();
      json.Member("name", NameOf(row));
      json.Member("count", static_cast<int64_t>(row.count));
      json.Name("self_cpu_time_us");
      json.Double(static_cast<double>(row.self.value) / 1e3);
      json.Name("cpu_time_total_us");
      json.Double(static_cast<double>(row.total.value) / 1e3);
      json.Name("is_user_annotation");
      json.Bool(row.is_range);
      if (has_sizes()) {
        json.Member("input_shapes", CleanText(row.sizes));
      }
      if (totals_.has_flops()) {
        json.Member("flops", static_cast<int64_t>(row.flops));
      }
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    context_.out.Put('\n');
  }

  void WriteCsv() {
    context_.out.Write(fmt::format("name,count,self_cpu_time_us,cpu_time_total_us{}{}\n",
                                   has_sizes() ? ",input_shapes" : "", totals_.has_flops() ? ",flops" : ""));
    for (const OperatorRow& row : rows_) {
      context_.out.Write(fmt::format(
          "{},{},{:.3f},{:.3f}{}{}\n", CsvText(NameOf(row)), row.count, static_cast<double>(row.self.value) / 1e3,
          static_cast<double>(row.total.value) / 1e3, has_sizes() ? "," + CsvText(CleanText(row.sizes)) : "",
          totals_.has_flops() ? fmt::format(",{}", row.flops) : ""));
    }
  }

  ExportContext context_;
  const OperatorTableOptions options_;
  OperatorTotals totals_;
  std::vector<OperatorRow> rows_;
  Nanos all_;
  size_t left_out_ = 0;
};

}  // namespace

std::unique_ptr<FormatExporter> MakeOperatorTable(ExportContext context) {
  return std::make_unique<OperatorTable>(std::move(context));
}

}  // namespace ptrace_prof
