#include "daemon/collect/sample_buffer.h"

#include <algorithm>

#include "daemon/collect/stack_history.h"

namespace ptrace_prof {

void SampleBuffer::ResolveDoubtful(DoubtfulChains& doubtful) {
  for (Entry& entry : entries_) {
    if (entry.doubtful == kNotDoubtful) {
      continue;
    }
    if (const std::optional<NodeId> leaf = doubtful.Resolve(entry.doubtful, linker_)) {
      entry.leaf = *leaf;
      entry.stack = linker_.stack(*leaf);
      entry.quality = SampleQuality::kVerified;
    }
  }
  doubtful.Clear();
}

// The code of every frame of every buffered stack, each once.
void SampleBuffer::CollectCodes() {
  used_.clear();
  node_seen_.assign(linker_.node_count() + 1, 0);
  code_seen_.assign(codes_.size() + 1, 0);
  for (const Entry& entry : entries_) {
    for (NodeId node = entry.leaf; node != kRootNode && node_seen_[node.value] == 0; node = linker_.parent(node)) {
      node_seen_[node.value] = 1;
      const CodeId code = linker_.code(node);
      if (code != kNoCode && code_seen_[code.value] == 0) {
        code_seen_[code.value] = 1;
        used_.push_back(code);
      }
    }
  }
}

// The youngest ancestor (or the node itself) above which everything, down to the root, is still what it was.
NodeId SampleBuffer::FirstGood(NodeId leaf) const {
  NodeId good = leaf;
  for (NodeId node = leaf; node != kRootNode; node = linker_.parent(node)) {
    if (std::find(stale_.begin(), stale_.end(), linker_.code(node)) != stale_.end()) {
      good = linker_.parent(node);
    }
  }
  return good;
}

uint64_t SampleBuffer::DropSince(Nanos when) {
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.when >= when; });
}

bool SampleBuffer::Settle(bool trusted, DoubtfulChains& doubtful, const CaptureContext& context) {
  Accounting& accounting = context.accounting;
  ResolveDoubtful(doubtful);
  stale_.clear();
  if (!trusted && !entries_.empty()) {
    CollectCodes();
    codes_.Revalidate(used_, &stale_);  // a process that is gone cannot be asked: its last samples stay as they are
  }
  for (Entry& entry : entries_) {
    if (!stale_.empty()) {
      if (const NodeId good = FirstGood(entry.leaf); good != entry.leaf) {
        entry.stack = linker_.WithMarker(linker_.stack(good), kTruncatedMarker);
        entry.quality = SampleQuality::kTruncated;
        ++accounting.stale_code;
      }
    }
    context.writer.AddSample(entry.thread, entry.when, entry.stack, entry.quality);
    if (context.history != nullptr) {
      context.history->Note(entry.thread, entry.when, entry.stack);
    }
    ++accounting.samples;
    ++accounting.by_quality[static_cast<size_t>(entry.quality)];
  }
  entries_.clear();
  return !stale_.empty();
}

}  // namespace ptrace_prof
