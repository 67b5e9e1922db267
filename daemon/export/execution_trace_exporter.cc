// PyTorch's own execution trace, as PyTorch wrote it, made whole. PyTorch writes an operator when it has ended, so
// those that ran at the end are missing, and what they called has a parent that is not there: it gets the node of its
// thread as PyTorch gives it to operators that have no parent. If the end is missing, all whole nodes before it stay.
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "daemon/export/format_exporter.h"
#include "daemon/export/number_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostText = size_t{512} << 20;
constexpr uint64_t kRoot = 1;
constexpr std::string_view kNodes = "\"nodes\": [";
constexpr std::string_view kNodesEnd = "\n  ],";
constexpr std::string_view kId = "\"id\": ";
constexpr std::string_view kNodeEnd = "]\n";  // then its brace
constexpr std::string_view kBetween = ",\n    ";
constexpr std::string_view kSpace = " \n";
constexpr std::string_view kParent = "\", \"ctrl_deps\": ";
constexpr std::string_view kThread = R"("name": "tid", "type": "uint64", "value": )";
constexpr std::string_view kThreadNode = "\"[pytorch|profiler|execution_trace|thread]\"";
constexpr std::string_view kFinish = "\"finish_ts\"";

std::optional<uint64_t> NumberAt(std::string_view text, size_t at) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return parsed.ec == std::errc() && parsed.ptr != text.data() + at ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> NumberAfter(std::string_view text, std::string_view key) {
  const size_t found = text.find(key);
  return found != std::string_view::npos ? NumberAt(text, found + key.size()) : std::nullopt;
}

struct Node {
  std::string_view text;  // from brace to brace
  uint64_t id = 0;
  uint64_t parent = 0;
  uint64_t thread = 0;
};

// `text`: up to the next node.
std::optional<Node> ParseNode(std::string_view text) {
  const size_t last_line = text.rfind(kNodeEnd);
  const size_t end = last_line == std::string_view::npos ? last_line : text.find_first_not_of(kSpace, last_line + 1);
  if (end == std::string_view::npos || text[end] != '}') {
    return std::nullopt;
  }
  text = text.substr(0, end + 1);
  const auto id = NumberAfter(text, kId);
  const auto parent = NumberAfter(text, kParent);
  if (!id || !parent) {
    return std::nullopt;
  }
  return Node{text, *id, *parent, NumberAfter(text, kThread).value_or(0)};
}

// Where the next node begins.
size_t FindNode(std::string_view text, size_t from) {
  for (size_t id = text.find(kId, from); id != std::string_view::npos; id = text.find(kId, id + 1)) {
    const size_t brace = text.find_last_not_of(kSpace, id - 1);
    if (brace != std::string_view::npos && brace >= from && text[brace] == '{') {
      return brace;
    }
  }
  return std::string_view::npos;
}

// What is before the nodes, the whole nodes, and what is behind them.
struct Parts {
  std::string_view head;
  std::vector<Node> nodes;
  std::string_view tail;  // empty: the end is missing
  uint64_t spoilt = 0;
};

std::optional<Parts> Split(std::string_view text) {
  const size_t list = text.find(kNodes);
  if (list == std::string_view::npos) {
    return std::nullopt;
  }
  Parts parts{.head = text.substr(0, list + kNodes.size()), .nodes = {}, .tail = {}};
  const size_t finish = text.rfind(kFinish);
  const size_t end = finish != std::string_view::npos ? text.rfind(kNodesEnd, finish) : finish;
  const size_t last = text.find_last_not_of(kSpace);
  if (end != std::string_view::npos && text[last] == '}' &&
      text.find_first_not_of(kSpace, end + kNodesEnd.size()) == finish) {
    parts.tail = text.substr(end);
    text = text.substr(0, end);
  }
  size_t begin = FindNode(text, list);
  while (begin != std::string_view::npos) {
    const size_t next = FindNode(text, begin + 1);
    const std::string_view around = text.substr(begin, next == std::string_view::npos ? next : next - begin);
    if (const auto node = ParseNode(around)) {
      parts.nodes.push_back(*node);
    } else {
      ++parts.spoilt;
    }
    begin = next;
  }
  return parts;
}

class ExecutionTraceExporter : public FormatExporter {
 public:
  explicit ExecutionTraceExporter(ExportContext context) : context_(std::move(context)) {}

  void OnSpan(const Span&) override {}
  void OnExecutionTrace(Pid pid, std::string_view piece) override {
    std::string& text = texts_[pid];
    if (text.size() + piece.size() <= kMostText) {
      text += piece;
    }
  }

  Result<void> Finish() override {
    if (texts_.empty()) {
      return Error{Code::kInvalidArgument, "the trace has no execution trace of PyTorch",
                   "Record with --execution-trace; `ptrace-prof export --format text` shows why one is missing."};
    }
    if (texts_.size() > 1) {
      return Error{Code::kInvalidArgument, fmt::format("the trace has execution traces of {} processes", texts_.size()),
                   "Choose one with --pid."};
    }
    const std::string& text = texts_.begin()->second;
    std::optional<Parts> parts = Split(text);
    if (parts && parts->nodes.empty() && !parts->tail.empty()) {  // of another form, but PyTorch completed it
      context_.out.Write(text);
      return {};
    }
    if (!parts || parts->nodes.empty()) {
      return Error{Code::kInvalidArgument, "the execution trace is not complete, and not of a known form", ""};
    }
    Write(*parts);
    return {};
  }

 private:
  void Write(const Parts& parts) {
    std::unordered_set<uint64_t> ids{kRoot};
    std::unordered_map<uint64_t, uint64_t> threads;  // PyTorch's number of the thread → its node
    bool has_root = false;
    for (const Node& node : parts.nodes) {
      ids.insert(node.id);
      has_root = has_root || node.id == kRoot;
      if (node.text.find(kThreadNode) != std::string_view::npos) {
        threads[node.thread] = node.id;
      }
    }
    uint64_t orphans = 0;
    context_.out.Write(parts.head);
    std::string_view before = kBetween.substr(1);
    for (const Node& node : parts.nodes) {
      context_.out.Write(before);
      before = kBetween;
      if (ids.contains(node.parent)) {
        context_.out.Write(node.text);
        continue;
      }
      ++orphans;
      const auto thread = threads.find(node.thread);
      WriteUnder(node, thread != threads.end() ? thread->second : kRoot);
    }
    WriteEnd(parts, has_root);
    AddNotes(parts, orphans);
  }

  void WriteUnder(const Node& node, uint64_t parent) {
    const size_t number = node.text.find(kParent) + kParent.size();
    context_.out.Write(node.text.substr(0, number));
    context_.out.Write(std::to_string(parent));
    context_.out.Write(node.text.substr(node.text.find_first_not_of("0123456789", number)));
  }

  void WriteEnd(const Parts& parts, bool has_root) {
    if (!parts.tail.empty()) {
      context_.out.Write(parts.tail);
      return;
    }
    if (!has_root) {  // PyTorch writes it last
      context_.out.Write(
          ",\n    {\n      \"id\": 1, \"name\": \"[pytorch|profiler|execution_trace|process]\", \"ctrl_deps\": 1,\n"
          "      \"inputs\": {\"values\": [], \"shapes\": [], \"types\": [], \"strides\": []},\n"
          "      \"outputs\": {\"values\": [], \"shapes\": [], \"types\": [], \"strides\": []},\n"
          "      \"attrs\": []\n    }");
    }
    context_.out.Write("\n  ]\n}");
  }

  void AddNotes(const Parts& parts, uint64_t orphans) {
    if (parts.tail.empty()) {
      context_.notes.push_back("The end of the execution trace is missing: it has what came before.");
    }
    if (parts.spoilt > 0) {
      context_.notes.push_back(fmt::format("{} nodes were not whole, and left out.", WithCommas(parts.spoilt)));
    }
    if (orphans > 0) {
      context_.notes.push_back(fmt::format(
          "{} nodes were called by an operator that PyTorch did not record to its end; they are under their "
          "thread instead.",
          WithCommas(orphans)));
    }
  }

  ExportContext context_;
  std::map<Pid, std::string> texts_;
};

}  // namespace

std::unique_ptr<FormatExporter> MakeExecutionTraceExporter(ExportContext context) {
  return std::make_unique<ExecutionTraceExporter>(std::move(context));
}

}  // namespace ptrace_prof
