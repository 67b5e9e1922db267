// What is known of operators only once the whole trace is: their groups by Python stack, by the nn.Module that runs
// them and by step, and what a GPU did for them.
//
//   spans, samples, operators, GPU work ──► kept, up to a limit ──Finish──► each operator with its group and GPU time
//
// The stack of an operator is that of its thread when it began, if calls were traced. From samples it is known only for
// an operator during which one was taken: the same stack before and after it says nothing about what ran between. A
// backward operator belongs to the module of the forward operator with the same sequence number. Where a GPU is
// recorded, calls of CUDA are operators too, and what they launch is the innermost operator's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/export/exporter.h"
#include "daemon/export/operator_links.h"
#include "daemon/export/recording.h"
#include "daemon/export/span.h"
#include "daemon/export/thread_stacks.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/operator.h"

namespace ptrace_prof {

class OperatorGroups {
 public:
  using Visit = std::function<void(TrackId track, const Operator& one, uint64_t flops, const std::string& group,
                                   Nanos device)>;  // `device`: what a GPU took for what it launched itself

  // All must outlive it.
  OperatorGroups(const OperatorTableOptions& options, const Recording& recording, const StackTable& stacks)
      : options_(options), recording_(recording), stacks_(stacks), threads_(recording) {}

  void OnSpan(const Span& span);  // of calls
  void OnSample(TrackId track, Nanos when, StackId stack);
  // `group`: if it is known now.
  void Add(TrackId track, const Operator& one, uint64_t flops, std::optional<std::string> group = std::nullopt);
  void Add(TrackId track, const GpuApiCall& call);
  void Add(OperatorThread launched_by, const GpuOperation& operation);
  // The operators in the order in which they came; with calls of CUDA among them, in the order of their ends.
  void Finish(const Visit& visit);
  uint64_t left_out() const { return left_out_; }  // operators for which there was no room

 private:
  struct Kept {
    TrackId track;
    Operator one;  // without inputs
    uint64_t flops = 0;
    std::optional<std::string> group;
    bool is_call = false;  // of CUDA
  };
  struct Launched {
    OperatorThread thread;
    Nanos when;
    Nanos took;
  };
  struct Backward {
    Nanos begin;
    Nanos end;
    std::string group;
  };

  bool UsesStacks() const {
    return options_.grouping == OperatorGrouping::kStack || options_.grouping == OperatorGrouping::kModule;
  }
  std::optional<StackId> StackOf(const Kept& kept) const;
  const std::string& TextOf(StackId stack);
  std::string Describe(StackId stack) const;
  std::string StepOf(const Operator& one) const;
  std::string GroupOf(const Kept& kept);
  void FindBackwards();
  std::vector<Nanos> DeviceTimes();
  const std::string* BackwardGroup(const Kept& kept) const;

  const OperatorTableOptions options_;
  const Recording& recording_;
  const StackTable& stacks_;
  ThreadStacks threads_;
  std::vector<Kept> kept_;
  std::vector<Launched> launched_;
  bool has_calls_ = false;
  std::map<StackId, std::string> texts_;
  std::vector<RecordedStep> steps_;                            // in order of time
  std::map<OperatorThread, std::vector<Backward>> backwards_;  // in order of time
  uint64_t left_out_ = 0;
};

}  // namespace ptrace_prof
