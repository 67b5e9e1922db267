#include "daemon/collector/sample/sample_buffer.h"

#include <algorithm>

#include "daemon/collector/target/stack_history.h"

namespace ptrace_prof {

// Collects the code of every frame of every buffered stack, each once.
void SampleBuffer::CollectCodes() {
  used_.clear();
  node_seen_.assign(builder_.node_count() + 1, 0);
  code_seen_.assign(codes_.size() + 1, 0);
  for (const Entry& entry : entries_) {
    for (NodeId node = entry.leaf; node != kRootNode && node_seen_[node.value] == 0; node = builder_.parent(node)) {
      node_seen_[node.value] = 1;
      const CodeId code = builder_.code(node);
      if (code != kNoCode && code_seen_[code.value] == 0) {
        code_seen_[code.value] = 1;
        used_.push_back(code);
      }
    }
  }
}

bool SampleBuffer::HasStale(NodeId leaf) const {
  for (NodeId node = leaf; node != kRootNode; node = builder_.parent(node)) {
    if (std::ranges::find(stale_, builder_.code(node)) != stale_.end()) {
      return true;
    }
  }
  return false;
}

uint64_t SampleBuffer::DropSince(Nanos when) {
  return std::erase_if(entries_, [&](const Entry& entry) { return entry.when >= when; });
}

bool SampleBuffer::Settle(bool trusted, const CaptureContext& context) {
  Accounting& accounting = context.accounting;
  stale_.clear();
  if (!trusted && !entries_.empty()) {
    CollectCodes();
    codes_.Revalidate(used_, &stale_);  // of a process that is gone nothing can be read: its samples stay as they are
  }
  for (Entry& entry : entries_) {
    if (!stale_.empty() && HasStale(entry.leaf)) {
      entry.stack = builder_.WithoutNames(entry.leaf,
                                          [&](CodeId code) { return std::ranges::find(stale_, code) != stale_.end(); });
      entry.quality = entry.quality == SampleQuality::kSeen ? SampleQuality::kStaleNames : entry.quality;
      ++accounting.stale_code;
    }
    if (entry.is_collecting) {
      entry.stack = builder_.WithMarker(entry.stack, kGcMarker);
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
