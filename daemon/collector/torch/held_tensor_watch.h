// Writes to the trace which tensors a recorded job holds: looks until it has found its models and optimizers.
//
// They are found only while the frames that run lead to them, so it looks several times. Each tensor is written once.
// Does not stop the target. One owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <tuple>

#include "attach/base/types.h"
#include "daemon/collector/target/source.h"
#include "daemon/collector/torch/torch_classes.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {

class HeldTensorWatch {
 public:
  HeldTensorWatch(const RecordedProcess& target, TraceWriter& writer, bool has_old_strings)
      : target_(target), writer_(writer), has_old_strings_(has_old_strings) {}

  // Takes up to some 50 ms, now and then.
  void Poll(Nanos now);
  uint64_t tensors() const { return written_.size(); }

 private:
  bool Look(Nanos now);  // whether it found all

  const RecordedProcess target_;
  TraceWriter& writer_;
  const bool has_old_strings_;
  std::optional<TorchClasses> classes_;
  Nanos next_;
  uint32_t looks_ = 0;
  std::set<std::tuple<TensorRole, uint64_t, std::string>> written_;
};

}  // namespace ptrace_prof
