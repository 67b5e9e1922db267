// Reports which tensors a recorded job holds: looks until it has found its models and optimizers.
//
// They are found only while the frames that run lead to them, so it looks several times. Each tensor is reported once.
// Does not stop the target. One owner, one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "attach/base/types.h"
#include "daemon/collector/target/source.h"
#include "daemon/collector/torch/torch_classes.h"
#include "daemon/trace/held_tensor.h"

namespace ptrace_prof {

class HeldTensorWatch {
 public:
  using Sink = std::function<void(const HeldTensor& tensor)>;

  HeldTensorWatch(const RecordedProcess& target, Sink sink, bool has_old_strings)
      : target_(target), sink_(std::move(sink)), has_old_strings_(has_old_strings) {}

  // Takes up to some 50 ms, now and then.
  void Poll(Nanos now);
  uint64_t tensors() const { return reported_.size(); }

 private:
  bool Look(Nanos now);  // whether it found all

  const RecordedProcess target_;
  const Sink sink_;
  const bool has_old_strings_;
  std::optional<TorchClasses> classes_;
  Nanos next_;
  uint32_t looks_ = 0;
  std::set<std::tuple<TensorRole, uint64_t, std::string>> reported_;
};

}  // namespace ptrace_prof
