// The operators, ranges and memory of PyTorch in Kineto's JSON: cpu_op, user_annotation and [memory], and the arrows
// from forward operators to their backward ones (fwdbwd).
//
// As torch.profiler does it: an `autograd::engine::evaluate_function: X` gets the sequence number and the forward
// thread of the BACKWARD_FUNCTION inside it, and an operator without sequence number has no forward thread
// (torch/csrc/profiler/collection.cpp and autograd/profiler_kineto.cpp). Written while the trace is read, operators in
// the order of their ends. Memory: the forward operators whose backward may still come, up to a limit.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/export/format_exporter.h"
#include "daemon/export/json_output.h"
#include "daemon/export/kineto_writer.h"
#include "daemon/export/operator_links.h"
#include "daemon/export/range_edges.h"

namespace ptrace_prof {

class KinetoOperators {
 public:
  // All must outlive it.
  KinetoOperators(const ExportContext& context, JsonOutput& json, KinetoWriter& writer, OperatorLinks& links,
                  RangeEdges& edges)
      : context_(context), json_(json), writer_(writer), links_(links), edges_(edges) {}

  void OnOperator(TrackId track, const Operator& one);
  void OnAllocation(TrackId track, const Allocation& one);
  void Finish();  // once all calls are written: writes the ranges that wait for them, and the arrows
  bool is_empty() const { return index_ == 0; }
  bool has_inputs() const { return has_inputs_; }
  bool has_memory() const { return has_memory_; }

 private:
  struct Place {
    uint32_t track = 0;
    Nanos begin;
  };
  struct Pair {
    Place forward;
    Place backward;
    bool has_forward = false;
    bool has_backward = false;
  };
  struct LastBackward {
    Nanos begin;
    Nanos end;
    int64_t sequence = -1;
    uint32_t forward_thread = 0;
  };

  // Beside calls ranges wait for those of __enter__ and __exit__.
  struct HeldRange {
    TrackId track;
    Operator one;  // its inputs are these
    std::optional<OperatorInputs> inputs;
  };

  void Write(TrackId track, const Operator& one);
  void WriteInputs(const OperatorInputs& inputs);
  void Link(TrackId track, const Operator& one);

  const ExportContext& context_;
  JsonOutput& json_;
  KinetoWriter& writer_;
  OperatorLinks& links_;
  RangeEdges& edges_;
  std::vector<HeldRange> held_;
  uint64_t count_ = 0;  // of operators
  uint64_t index_ = 0;  // of events
  bool has_inputs_ = false;
  bool has_memory_ = false;
  std::unordered_map<uint32_t, LastBackward> last_backward_;  // by track
  std::unordered_map<uint64_t, Pair> pairs_;                  // by forward thread and sequence number
};

}  // namespace ptrace_prof
