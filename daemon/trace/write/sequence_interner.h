// The interning tables of one packet sequence: assigns per-sequence ids to stacks and state names, and collects the
// definitions that the sequence's next packet must carry.
//
// Owned by TraceWriter, one per thread. Encodes definitions, but no packets. The owner bounds its size by entries() and
// Clear.
#pragma once

#include "daemon/trace/iid_map.h"
#include "daemon/trace/model.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/wire_encoder.h"
#include "daemon/trace/write/frame_names.h"

namespace ptrace_prof {

class SequenceInterner {
 public:
  SequenceInterner(const StackTable& stacks, FrameNames& names) : stacks_(stacks), names_(names) {}

  uint32_t Callstack(StackId stack) {
    const uint32_t known = callstacks_.Find(stack.value + 1);
    return known != 0 ? known : AddCallstack(stack);
  }
  // `state` is a number from 1 that stands for `info` throughout the trace.
  uint32_t StateName(uint32_t state, const StateInfo& info);

  // Definitions not yet written: fields of InternedData, and of our Extension.
  WireEncoder& interned() { return interned_; }
  WireEncoder& extras() { return extras_; }

  size_t entries() const { return callstacks_.size() + frames_.size() + functions_.size() + files_.size(); }
  void Clear();

 private:
  uint32_t AddCallstack(StackId stack);
  uint32_t AddNoStack();
  uint32_t FrameIid(FrameId frame);
  uint32_t FunctionIid(uint32_t name);
  uint32_t FileIid(uint32_t name);
  void DefineFrame(uint32_t iid, const Frame& frame, FrameNames::Ids names);

  const StackTable& stacks_;
  FrameNames& names_;
  IidMap callstacks_;  // StackId + 1 → iid
  IidMap frames_;      // FrameId + 1 → iid
  IidMap functions_;   // name id → iid
  IidMap files_;       // name id → iid
  IidMap states_;
  uint32_t next_frame_ = 1;
  uint32_t next_function_ = 1;
  std::vector<FrameId> chain_;  // scratch
  WireEncoder interned_;
  WireEncoder extras_;
};

}  // namespace ptrace_prof
