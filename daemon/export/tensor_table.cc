// The tensors that a job's models and optimizers held, as a table: text, JSON or CSV.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "attach/base/clean_text.h"
#include "daemon/export/format_exporter.h"
#include "daemon/export/json_output.h"
#include "daemon/export/markup.h"
#include "daemon/export/memory_curve.h"
#include "daemon/export/number_text.h"

namespace ptrace_prof {
namespace {

// By TensorRole.
constexpr std::string_view kRoles[kTensorRoles] = {"parameter", "buffer", "gradient", "optimizer_state"};
constexpr std::array<std::string_view, 8> kTensorColumns = {"role",  "name",   "of",    "type",
                                                            "sizes", "device", "bytes", "address"};
constexpr size_t kBytesColumn = 6;

class TensorTable : public FormatExporter {
 public:
  explicit TensorTable(ExportContext context) : context_(std::move(context)) {}

  void OnSpan(const Span&) override {}
  void OnHeldTensor(const HeldTensor& tensor) override { tensors_.push_back(tensor); }

  Result<void> Finish() override {
    if (tensors_.empty()) {
      return Error{Code::kInvalidArgument, "the trace has no tensors of a model or an optimizer",
                   "record with --profile-memory, while a model is in use"};
    }
    std::ranges::stable_sort(tensors_, [](const HeldTensor& a, const HeldTensor& b) {
      return std::pair(a.role, -a.bytes) < std::pair(b.role, -b.bytes);
    });
    const size_t limit = context_.options.table->rows;
    const size_t shown = limit > 0 ? std::min(tensors_.size(), limit) : tensors_.size();
    switch (context_.options.table->form) {
      case TableForm::kJson: WriteJson(shown); break;
      case TableForm::kCsv: WriteCsv(shown); break;
      case TableForm::kText:
      case TableForm::kStacks: WriteText(shown); break;
    }
    return {};
  }

 private:
  using Row = std::array<std::string, kTensorColumns.size()>;

  static Row RowOf(const HeldTensor& tensor) {
    return {std::string(kRoles[static_cast<size_t>(tensor.role)]),
            CleanText(tensor.name),
            CleanText(tensor.owner),
            CleanText(tensor.type),
            CleanText(tensor.sizes),
            DeviceName(tensor.device),
            std::to_string(tensor.bytes),
            fmt::format("{:#x}", tensor.address)};
  }

  void WriteText(size_t shown) {
    std::vector<Row> rows(1);
    std::ranges::copy(kTensorColumns, rows[0].begin());
    for (size_t i = 0; i < shown; ++i) {
      rows.push_back(RowOf(tensors_[i]));
      rows.back()[kBytesColumn] = BytesText(tensors_[i].bytes);
    }
    Row rule;
    for (size_t column = 0; column < rule.size(); ++column) {
      const auto longest = std::ranges::max_element(rows, {}, [column](const Row& row) { return row[column].size(); });
      rule[column] = std::string((*longest)[column].size(), '-');
    }
    rows.insert(rows.begin() + 1, rule);
    for (const Row& row : rows) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const size_t width = rule[i].size();
        line += (i == 0 ? "" : "  ") +
                (i == kBytesColumn ? fmt::format("{:>{}}", row[i], width) : fmt::format("{:<{}}", row[i], width));
      }
      context_.out.Write(line + "\n");
    }
    WriteTotals();
    if (shown < tensors_.size()) {
      context_.out.Write(fmt::format("{} more rows: --row-limit shows them.\n", tensors_.size() - shown));
    }
  }

  // Tensors may share a storage.
  void WriteTotals() {
    for (size_t role = 0; role < kTensorRoles; ++role) {
      std::map<std::pair<int32_t, uint64_t>, int64_t> storages;
      size_t count = 0;
      for (const HeldTensor& tensor : tensors_) {
        if (static_cast<size_t>(tensor.role) == role) {
          ++count;
          storages[{tensor.pid.value, tensor.address}] = tensor.bytes;
        }
      }
      int64_t bytes = 0;
      for (const auto& [place, size] : storages) {
        bytes += size;
      }
      if (count > 0) {
        context_.out.Write(fmt::format("{}: {} in {} tensors\n", kRoles[role], BytesText(bytes), WithCommas(count)));
      }
    }
  }

  void WriteJson(size_t shown) {
    JsonOutput json(context_.out);
    json.StartObject();
    json.Name("rows");
    json.StartArray();
    for (size_t i = 0; i < shown; ++i) {
      const Row row = RowOf(tensors_[i]);
      json.StartObject();
      json.Member("pid", tensors_[i].pid.value);
      for (size_t column = 0; column < row.size(); ++column) {
        if (column == kBytesColumn) {
          json.Member(kTensorColumns[column], tensors_[i].bytes);
        } else {
          json.Member(kTensorColumns[column], row[column]);
        }
      }
      json.EndObject();
    }
    json.EndArray();
    json.EndObject();
    context_.out.Put('\n');
  }

  void WriteCsv(size_t shown) {
    const auto write = [this](const auto& cells) {
      std::string line;
      for (const auto& cell : cells) {
        line += (line.empty() ? "" : ",") + CsvText(std::string(cell));
      }
      context_.out.Write(line + "\n");
    };
    write(kTensorColumns);
    for (size_t i = 0; i < shown; ++i) {
      write(RowOf(tensors_[i]));
    }
  }

  ExportContext context_;
  std::vector<HeldTensor> tensors_;
};

}  // namespace

std::unique_ptr<FormatExporter> MakeTensorTable(ExportContext context) {
  return std::make_unique<TensorTable>(std::move(context));
}

}  // namespace ptrace_prof
