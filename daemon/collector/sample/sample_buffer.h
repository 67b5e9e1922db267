// Holds the samples of one process between two flushes until their code objects are known to be still there.
//
// A code object that is freed and reused between two checks could lend its old name to new samples. Settle reads the
// headers of all code in the buffered stacks again (one batch), removes the names of changed ones, marks those samples,
// and only then passes them to the writer. One per process.
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
    bool is_collecting = false;  // garbage collection, shown as the leaf of the stack
  };

  SampleBuffer(CodeCache& codes, StackBuilder& builder) : codes_(codes), builder_(builder) {}

  void Add(const Entry& entry) { entries_.push_back(entry); }
  size_t size() const { return entries_.size(); }
  // Drops the samples from `when` on; returns their number.
  uint64_t DropSince(Nanos when);

  // Checks and writes the samples; `trusted`: nothing was freed since the last check, so skip it. True: some code was
  // stale, and the chains linked so far must be forgotten.
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
