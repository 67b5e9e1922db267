// Writes the operations of one GPU queue, or the runtime calls, annotated ranges or operators of one thread: slices on
// a track and a packet sequence of their own.
//
// Owned by GpuWriter. Encodes at once and keeps only its interning tables: about 80 bytes per operation. GPU records
// come in no order: each becomes a begin with its end right behind, at times relative to a fixed base, and Perfetto
// sorts them. Slices of one track must not overlap, so operations that overlap others of their queue go on an
// additional track; ranges may nest. A launch and its operations are joined by a flow, made from their correlation.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "daemon/trace/allocation.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/iid_map.h"
#include "daemon/trace/operator.h"
#include "daemon/trace/trace_origin.h"
#include "daemon/trace/wire_encoder.h"
#include "daemon/trace/write/nesting_lanes.h"
#include "daemon/trace/write/sequence_interner.h"

namespace ptrace_prof {

struct GpuSequencePlace {
  uint64_t process_uuid = 0;  // correlations are unique within it
  uint64_t uuid = 0;          // of the track
  uint64_t parent_uuid = 0;
  std::string name;
  uint32_t sequence_id = 0;
  std::string about;  // fields of the message GpuTrack
};

class GpuSequence {
 public:
  GpuSequence(GpuSequencePlace place, const TraceOrigin& origin, const StackTable& stacks, FrameNames& names);

  void AddOperation(const GpuOperation& operation, WireEncoder& out);
  void AddCall(const GpuApiCall& call, WireEncoder& out);
  void AddAnnotation(const GpuAnnotation& annotation, WireEncoder& out);
  void AddOperator(const Operator& one, WireEncoder& out);
  void AddAllocation(const Allocation& one, WireEncoder& out);

  // Forgets the tables; the next packets begin a new incremental state.
  void Reset();
  size_t entries() const { return names_.size() + texts_ + interner_.entries(); }

 private:
  struct Event;
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  struct ShapeHash {
    size_t operator()(const GpuShape& shape) const;
  };
  static constexpr size_t kLanes = 8;

  void EncodePreamble(WireEncoder& out);
  void DefineFixedTexts(WireEncoder& out) const;
  template <typename Fill>
  void Packet(WireEncoder& out, uint32_t flags, Fill fill) const;
  template <typename Fill>
  void DefineText(std::string_view text, Fill fill, WireEncoder& out);
  uint32_t NameIid(std::string_view name, WireEncoder& out);
  uint32_t ShapeIid(const GpuShape& shape, WireEncoder& out);
  uint32_t StackIid(StackId stack, WireEncoder& out);
  uint32_t InputsIid(const OperatorInputs* inputs, WireEncoder& out);
  uint32_t DomainIid(std::string_view domain, WireEncoder& out);
  std::string StackText(StackId stack) const;
  uint64_t LaneUuid(size_t lane) const;
  size_t Lane(Nanos begin, Nanos end, WireEncoder& out);
  void DescribeLanes(size_t last, WireEncoder& out);
  void AddStack(StackId stack, GpuStackSource source, uint32_t iid, Event& event) const;
  void AddFlow(uint64_t correlation, Event& event) const;
  void EncodeEnd(Nanos when, size_t lane, WireEncoder& out) const;
  uint64_t Time(Nanos when) const;

  const GpuSequencePlace place_;
  const TraceOrigin origin_;
  const StackTable& stacks_;
  SequenceInterner interner_;
  const int64_t base_;
  std::string tail_;  // of every packet: its sequence
  bool described_ = false;
  uint32_t texts_ = 0;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> names_;
  std::unordered_map<GpuShape, uint32_t, ShapeHash> shapes_;
  IidMap stack_texts_;  // StackId → iid
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> domains_;
  IidMap inputs_;  // OperatorInputs::number → iid
  std::array<int64_t, kLanes> lane_ends_{};
  NestingLanes nesting_{kLanes};
  size_t lanes_described_ = 1;
};

}  // namespace ptrace_prof
