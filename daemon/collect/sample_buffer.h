// Samples of one process between two flushes, held back until the code objects in them were seen to be still there.
//
// A code object that was freed and reused between two checks could lend its old name to new samples; Settle
// re-reads the headers of all code in the buffered stacks (one batch), cuts stacks above a code object that changed,
// marks them, and only then hands the samples to the writer. Samples whose links became known meanwhile are whole
// again (doubtful_chains.h). One per process.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/base/types.h"
#include "daemon/collect/capture_context.h"
#include "daemon/collect/doubtful_chains.h"
#include "daemon/collect/stack_linker.h"
#include "daemon/trace/model.h"
#include "daemon/trace/trace_writer.h"
#include "symbolizer/cpython/code_cache.h"

namespace ptrace_prof {

class SampleBuffer {
 public:
  struct Entry {
    ThreadHandle thread;
    SampleQuality quality = SampleQuality::kVerified;
    Nanos when;
    StackId stack;
    NodeId leaf;
    DoubtfulId doubtful = kNotDoubtful;
  };

  SampleBuffer(CodeCache& codes, StackLinker& linker) : codes_(codes), linker_(linker) {}

  void Add(const Entry& entry) { entries_.push_back(entry); }
  size_t size() const { return entries_.size(); }
  // Forgets those from then on; their number.
  uint64_t DropSince(Nanos when);

  // Checks (unless `trusted`: nothing was freed since the last time) and writes out. true: some code was stale, chains
  // linked so far must be forgotten.
  bool Settle(bool trusted, DoubtfulChains& doubtful, const CaptureContext& context);

 private:
  void ResolveDoubtful(DoubtfulChains& doubtful);
  void CollectCodes();
  NodeId FirstGood(NodeId node) const;

  CodeCache& codes_;
  StackLinker& linker_;
  std::vector<Entry> entries_;
  std::vector<CodeId> used_;
  std::vector<CodeId> stale_;
  std::vector<uint8_t> node_seen_;
  std::vector<uint8_t> code_seen_;
};

}  // namespace ptrace_prof
