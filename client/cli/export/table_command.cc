#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/command.h"
#include "client/cli/export/export_file.h"
#include "client/cli/export/export_options.h"
#include "client/cli/messages.h"

namespace ptrace_prof {
namespace {

template <typename Value>
struct Choice {
  std::string_view word;
  Value value;
};
constexpr Choice<OperatorGrouping> kGroupings[] = {
    {"name", OperatorGrouping::kName},         {"shape", OperatorGrouping::kShape},
    {"stack", OperatorGrouping::kStack},       {"module", OperatorGrouping::kModule},
    {"overload", OperatorGrouping::kOverload}, {"step", OperatorGrouping::kStep}};
constexpr std::string_view kStackOf = "stack:";
// Also the words of torch.profiler.
constexpr Choice<OperatorOrder> kOrders[] = {{"self", OperatorOrder::kSelf},
                                             {"total", OperatorOrder::kTotal},
                                             {"mean", OperatorOrder::kMean},
                                             {"count", OperatorOrder::kCount},
                                             {"memory", OperatorOrder::kMemory},
                                             {"device", OperatorOrder::kSelfDevice},
                                             {"device_total", OperatorOrder::kTotalDevice},
                                             {"flops", OperatorOrder::kFlops},
                                             {"name", OperatorOrder::kName},
                                             {"self_cpu_time_total", OperatorOrder::kSelf},
                                             {"cpu_time_total", OperatorOrder::kTotal},
                                             {"cpu_time", OperatorOrder::kMean},
                                             {"self_cpu_memory_usage", OperatorOrder::kMemory},
                                             {"self_cuda_time_total", OperatorOrder::kSelfDevice},
                                             {"self_device_time_total", OperatorOrder::kSelfDevice},
                                             {"cuda_time_total", OperatorOrder::kTotalDevice},
                                             {"device_time_total", OperatorOrder::kTotalDevice}};
constexpr Choice<TableForm> kForms[] = {
    {"text", TableForm::kText}, {"json", TableForm::kJson}, {"csv", TableForm::kCsv}, {"stacks", TableForm::kStacks}};
constexpr size_t kWholeStacks = 512;  // frames

template <typename Value, size_t count>
std::string WordsOf(const Choice<Value> (&choices)[count]) {
  std::string words;
  for (const auto& choice : choices) {
    words += fmt::format("{}{}", words.empty() ? "" : ", ", choice.word);
  }
  return words;
}

template <typename Value, size_t count>
Result<Value> Choose(const Choice<Value> (&choices)[count], std::string_view option, const std::string& word) {
  for (const auto& choice : choices) {
    if (choice.word == word) {
      return choice.value;
    }
  }
  return Error{Code::kInvalidArgument, fmt::format("{} {}: there is no such choice", option, word),
               fmt::format("choose one of {}", WordsOf(choices))};
}

class TableCommand : public Command {
 public:
  void Declare(CLI::App& app) override {
    app.add_option("trace", input_, "The trace: a .pftrace file, or - for standard input")->required();
    app.add_option("-o,--output", output_, "Where to write (default: -, standard output)");
    app.add_option("--group-by", group_,
                   fmt::format("One row for each: {} (shape: of the inputs, needs --record-shapes; stack:N: its "
                               "innermost N Python frames; module and step need --mode trace)",
                               WordsOf(kGroupings)))
        ->type_name("WHAT");
    app.add_flag("--tensors", table_.tensors,
                 "Instead of operators: the parameters, buffers, gradients and optimizer state that were found (needs "
                 "--profile-memory)");
    app.add_option("--sort-by", order_, fmt::format("Largest first: {} (default: self)", WordsOf(kOrders)))
        ->type_name("COLUMN");
    app.add_option("--row-limit", table_.rows, "At most that many rows; 0: all (default: 100)")
        ->type_name("N")
        ->check(CLI::Range(0, 1'000'000'000).description(""));
    app.add_option(
           "-f,--format", form_,
           fmt::format(
               "{} (default: text); stacks: as export_stacks() of torch.profiler (with --sort-by device: GPU time)",
               WordsOf(kForms)))
        ->type_name("FORMAT");
    app.add_option("--threads", options_.threads, "Only these threads, by id or name")->delimiter(',');
    app.footer(
        "Examples:\n  ptrace-prof record --pid PID --torch on --record-shapes -d 10 -o run.pftrace\n"
        "  ptrace-prof table run.pftrace\n"
        "  ptrace-prof table run.pftrace --group-by shape --sort-by flops --row-limit 10\n");
  }

  int Run(const CommandContext&) override {
    if (auto prepared = Prepare(); prepared.has_error()) {
      return static_cast<int>(Fail(prepared.error()));
    }
    return static_cast<int>(ExportFile(input_, options_, output_));
  }

 private:
  Result<void> Prepare() {
    if (group_.starts_with(kStackOf)) {
      const char* end = group_.data() + group_.size();
      const auto [parsed, error] = std::from_chars(group_.data() + kStackOf.size(), end, table_.frames);
      if (error != std::errc() || parsed != end || table_.frames == 0) {
        return Error{Code::kInvalidArgument, fmt::format("--group-by {}: that is no number of frames", group_),
                     "give one, such as stack:5"};
      }
      group_ = "stack";
    }
    PP_ASSIGN_OR_RETURN(table_.grouping, Choose(kGroupings, "--group-by", group_));
    PP_ASSIGN_OR_RETURN(table_.order, Choose(kOrders, "--sort-by", order_));
    PP_ASSIGN_OR_RETURN(table_.form, Choose(kForms, "--format", form_));
    if (table_.form == TableForm::kStacks) {
      if (table_.grouping != OperatorGrouping::kStack && table_.grouping != OperatorGrouping::kName) {
        return Error{Code::kInvalidArgument, fmt::format("--format stacks adds up by stack, not by {}", group_),
                     "leave --group-by out, or give stack:N"};
      }
      if (table_.grouping == OperatorGrouping::kName) {
        table_.frames = kWholeStacks;
      }
      table_.grouping = OperatorGrouping::kStack;
      table_.rows = 0;
    }
    options_.table = table_;
    options_.format = ExportFormat::kText;
    return {};
  }

  std::string input_;
  std::string output_ = "-";
  std::string group_ = "name";
  std::string order_ = "self";
  std::string form_ = "text";
  OperatorTableOptions table_;
  ExportOptions options_;
};

}  // namespace

std::unique_ptr<Command> MakeTableCommand() { return std::make_unique<TableCommand>(); }

}  // namespace ptrace_prof
