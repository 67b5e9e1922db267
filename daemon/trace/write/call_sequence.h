// Writes the exact calls of one thread: slices on the thread's own track, on a packet sequence of their own, whose
// incremental clock counts nanoseconds.
//
// Owned by TraceWriter, one per traced thread. Encodes at once and keeps only its interning tables: 12 to 16 bytes per
// event. Ends without a begin are left out, so that slices always nest; a time before the last one is replaced by the
// last one. Perfetto gets function, file and line of a name as the SourceLocation of the same iid. Perfetto draws 512
// slices above each other and breaks those above. So calls continue on another track after every kLevelDepth.
#pragma once

#include <string>
#include <vector>

#include "daemon/trace/call.h"
#include "daemon/trace/stack_table.h"
#include "daemon/trace/trace_origin.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {

class CallSequence {
 public:
  CallSequence(uint64_t process_uuid, uint64_t thread_uuid, uint32_t sequence_id, const TraceOrigin& origin,
               const StackTable& stacks);

  void Begin(Nanos when, FrameId function, CallEntry entry, GeneratorId generator, WireEncoder& out);
  void End(Nanos when, CallExit exit, WireEncoder& out);
  void Lost(Nanos from, Nanos to, uint64_t count, WireEncoder& out);
  void BeginStep(Nanos when, uint64_t number, WireEncoder& out);
  void EndStep(Nanos when, WireEncoder& out);
  // Closes open slices, and ends the sequence.
  void EncodeEnd(Nanos when, WireEncoder& out);

  // Forgets the tables; the next packets begin a new incremental state.
  void Reset();
  size_t entries() const { return names_; }

 private:
  struct Fields;
  struct Event;

  void EncodePreamble(Nanos when, WireEncoder& out);
  void DefineMarks(WireEncoder& out) const;
  template <typename Fill>
  void Packet(WireEncoder& out, uint32_t flags, Fill fill) const;
  uint32_t NameIid(FrameId function, WireEncoder& out);
  uint32_t DefineName(std::string_view name, const Frame& frame, WireEncoder& out);
  uint64_t Delta(Nanos when);
  void Place(uint32_t depth, Event& event, WireEncoder& out);
  uint64_t LevelUuid(uint32_t level) const;
  void Describe(uint64_t uuid, std::string_view name, WireEncoder& out) const;
  void Append(Event& event, WireEncoder& out) const;

  static constexpr uint32_t kLevelDepth = 500;

  const uint64_t flow_seed_;
  const uint64_t thread_uuid_;
  const TraceOrigin origin_;
  const StackTable& stacks_;
  std::string tail_;  // of every packet: its sequence
  int64_t clock_ = 0;
  uint32_t open_ = 0;
  bool described_ = false;
  bool steps_described_ = false;
  uint32_t levels_described_ = 0;
  bool step_open_ = false;
  uint32_t names_ = 0;
  uint32_t lost_iid_ = 0;
  uint32_t held_iid_ = 0;
  std::vector<uint32_t> iid_of_function_;  // by FrameId; 0 = not defined
};

}  // namespace ptrace_prof
