// One thread in a trace being written: its pending data, and their encoding as packets of the thread's own sequence.
//
// Owned by TraceWriter, which decides when to encode. Adding a sample or a state only appends to an array. Times are
// cut to microseconds, the unit of Perfetto's sample times.
#pragma once

#include <span>
#include <vector>

#include "daemon/trace/trace_origin.h"
#include "daemon/trace/write/sequence_interner.h"

namespace ptrace_prof {

class ThreadSequence {
 public:
  ThreadSequence(const ThreadInfo& info, uint64_t process_uuid, uint32_t sequence_id, const TraceOrigin& origin,
                 const StackTable& stacks, FrameNames& names);

  void AddSample(Nanos when, StackId stack, SampleQuality quality) {
    samples_.push_back({when.value / 1000, stack, quality});
  }
  // `state` is a number from 1 that stands for `info` throughout the trace; 0 = no state, no slice.
  void AddState(Nanos when, uint32_t state) { states_.push_back({when.value / 1000, state}); }
  uint32_t last_state() const { return states_.empty() ? open_state_ : states_.back().state; }
  void AddLocals(uint32_t depth_from_leaf, std::span<const LocalVariable> locals);
  void Rename(std::string_view name);

  bool has_pending() const { return !samples_.empty() || !states_.empty() || !locals_.empty() || described_ != kDone; }
  size_t pending_samples() const { return samples_.size(); }
  bool has_locals() const { return !locals_.empty(); }

  // Appends packets for everything pending. `state_infos[n - 1]` is the meaning of state n.
  void Encode(const std::vector<StateInfo>& state_infos, WireEncoder& out);
  void EncodeEnd(Nanos when, WireEncoder& out);
  // Forgets the tables; the next packets begin a new incremental state.
  void Reset();
  size_t entries() const { return interner_.entries(); }
  bool is_described() const { return described_ == kDone; }
  uint64_t process_uuid() const { return process_uuid_; }
  uint64_t thread_uuid() const { return thread_uuid_; }

 private:
  struct Sample {
    int64_t when_us;
    StackId stack;
    SampleQuality quality;
  };
  struct StateChange {
    int64_t when_us;
    uint32_t state;
  };
  enum class Described : uint8_t { kNot, kOldName, kDone };

  template <typename Fill>
  void Packet(WireEncoder& out, uint32_t flags, Fill fill);
  int64_t FirstPendingTime() const;
  void EncodePreamble(WireEncoder& out);
  void EncodeTrack(WireEncoder& out);
  void EncodeStates(const std::vector<StateInfo>& state_infos, WireEncoder& out);
  void EncodeSlice(int64_t when_us, uint32_t name_iid, WireEncoder& out);
  void EncodeSamples(WireEncoder& out);
  void EncodeSampleRange(size_t begin, size_t end, bool with_locals, WireEncoder& out);
  void EncodeDefinitions(WireEncoder& out);

  ThreadInfo info_;
  uint64_t process_uuid_;
  uint64_t thread_uuid_;
  uint64_t state_uuid_;
  uint32_t sequence_id_;
  int64_t start_us_;
  SequenceInterner interner_;
  Described described_ = Described::kNot;
  uint32_t open_state_ = 0;  // the state whose slice is open in the encoded packets
  int64_t clock_us_ = 0;     // current value of the sequence's incremental clock
  int64_t sample_us_ = 0;    // time of the last encoded sample
  std::vector<Sample> samples_;
  std::vector<StateChange> states_;
  WireEncoder locals_;
  std::vector<uint32_t> iids_;  // scratch: of the samples being encoded
  static constexpr Described kDone = Described::kDone;
};

}  // namespace ptrace_prof
