#include "daemon/export/memory_peak.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostLargest = 20;
constexpr std::string_view kBefore = "[before the recording]";

bool IsPackage(std::string_view file) {
  return file.find("/site-packages/") != std::string_view::npos ||
         file.find("/dist-packages/") != std::string_view::npos || file.starts_with("<frozen");
}

// "train.py(12): step"; of a stack that has only packages, its innermost function.
std::string LineOf(const StackTable& stacks, StackId stack) {
  std::string innermost;
  for (; stack != kEmptyStack; stack = stacks.parent(stack)) {
    const Frame& frame = stacks.frame(stacks.leaf(stack));
    if (frame.kind != FrameKind::kPython) {
      continue;
    }
    if (!IsPackage(frame.file)) {
      return FrameText(frame);
    }
    innermost = innermost.empty() ? FrameText(frame) : innermost;
  }
  return innermost.empty() ? "[no Python]" : innermost;
}

class Shares {
 public:
  void Add(const std::string& name, int64_t bytes) {
    MemoryShare& share = shares_[name];
    share.bytes += bytes;
    ++share.blocks;
  }
  std::vector<MemoryShare> Sorted() const {
    std::vector<MemoryShare> sorted;
    for (const auto& [name, share] : shares_) {
      sorted.push_back({name, share.bytes, share.blocks});
    }
    std::ranges::stable_sort(sorted, std::greater<>(), &MemoryShare::bytes);
    return sorted;
  }

 private:
  std::map<std::string, MemoryShare> shares_;
};

}  // namespace

MemoryPeak PeakOf(const MemoryLedger& ledger, TorchDevice device, const std::vector<MemoryPoint>& curve,
                  const ThreadStacks& threads, const StackTable& stacks) {
  MemoryPeak peak;
  const auto highest = std::ranges::max_element(curve, {}, &MemoryPoint::total);
  if (highest == curve.end()) {
    return peak;
  }
  peak.when = highest->when;
  peak.bytes = highest->total();
  Shares categories;
  Shares operators;
  Shares lines;
  std::vector<const MemoryBlock*> there;
  for (const MemoryBlock& block : ledger.blocks()) {
    const bool is_of_device = block.device.type == device.type && (device.is_cpu() || block.device == device);
    if (!is_of_device || block.begin > peak.when || (block.is_freed && block.end <= peak.when)) {
      continue;
    }
    there.push_back(&block);
    categories.Add(std::string(NameOf(block.category)), block.bytes);
    if (block.made_by == kNoOperator) {
      const std::string from(block.was_there ? kBefore : "[no operator]");
      operators.Add(from, block.bytes);
      lines.Add(from, block.bytes);
      continue;
    }
    const OutermostOperator& one = ledger.operators()[block.made_by];
    operators.Add(CleanText(one.name), block.bytes);
    const std::optional<StackId> stack = threads.StackOf(one.track, one.begin, one.end);
    lines.Add(stack                                   ? LineOf(stacks, *stack)
              : one.phase == OperatorPhase::kBackward ? "[backward]"
                                                      : "[not sampled]",
              block.bytes);
  }
  peak.by_category = categories.Sorted();
  peak.by_operator = operators.Sorted();
  peak.by_line = lines.Sorted();
  std::ranges::stable_sort(there, std::greater<>(), &MemoryBlock::bytes);
  there.resize(std::min(there.size(), kMostLargest));
  for (const MemoryBlock* block : there) {
    const std::string_view what = !block->name.empty()            ? block->name
                                  : block->made_by != kNoOperator ? ledger.operators()[block->made_by].name
                                                                  : kBefore;
    peak.largest.push_back({fmt::format("{}: {}", NameOf(block->category), CleanText(what)), block->bytes, 1});
  }
  return peak;
}

}  // namespace ptrace_prof
