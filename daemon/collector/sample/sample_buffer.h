// Samples of one process between two flushes, held back until the code objects in them were seen to be still there.
//
// A code object that was freed and reused between two checks could lend its old name to new samples; Settle
// re-reads the headers of all code in the buffered stacks (one batch), takes the names of those that changed out of the
// stacks, marks them, and only then hands the samples to the writer. One per process.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collector/target/capture_context.h"
#include "daemon/collector/target/stack_builder.h"
#include "daemon/trace/model.h"
#include "daemon/trace/write/trace_writer.h"
#include "symbolizer/cpython/code_cache.h"

namespace ptrace_prof {

class SampleBuffer {
 public:
  struct Entry {
    ThreadHandle thread;
    SampleQuality quality = SampleQuality::kSeen;
    Nanos when;
    StackId stack;
    NodeId leaf;
    bool is_collecting = false;  // garbage: shown as the stack's leaf
  };

  SampleBuffer(CodeCache& codes, StackBuilder& builder) : codes_(codes), builder_(builder) {}

  void Add(const Entry& entry) { entries_.push_back(entry); }
  size_t size() const { return entries_.size(); }
  // Forgets those from then on; their number.
  uint64_t DropSince(Nanos when);

  // Checks (unless `trusted`: nothing was freed since the last time) and writes out. true: some code was stale, chains
  // linked so far must be forgotten.
  bool Settle(bool trusted, const CaptureContext& context);

 private:
  void CollectCodes();
  bool HasStale(NodeId leaf) const;

  CodeCache& codes_;
  StackBuilder& builder_;
  std::vector<Entry> entries_;
  std::vector<CodeId> used_;
  std::vector<CodeId> stale_;
  std::vector<uint8_t> node_seen_;
  std::vector<uint8_t> code_seen_;
};

}  // namespace ptrace_prof
