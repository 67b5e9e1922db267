#include "daemon/collector/torch/held_tensor_watch.h"

#include <utility>
#include <vector>

#include "daemon/collector/torch/held_tensors.h"
#include "daemon/collector/torch/torch_objects.h"
#include "symbolizer/cpython/interpreter_list.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kMostLooks = 12;
constexpr Nanos kFirstPause = Nanos::FromMillis(20);  // doubled each time
constexpr Nanos kLongestLook = Nanos::FromMillis(50);

}  // namespace

void HeldTensorWatch::Poll(Nanos now) {
  if (looks_ >= kMostLooks || now < next_) {
    return;
  }
  const bool is_complete = Look(now);
  looks_ = is_complete ? kMostLooks : looks_ + 1;
  next_ = MonotonicNow() + Nanos(kFirstPause.value << looks_);
}

bool HeldTensorWatch::Look(Nanos now) {
  const Layout& layout = target_.process.python.layout;
  const auto main = FindMainInterpreter(target_.memory, layout, target_.process.python.runtime);
  if (!main) {
    return false;
  }
  if (!classes_) {
    auto found = TorchClasses::Find(target_.memory, layout, *main);
    if (!found) {
      return false;
    }
    classes_.emplace(std::move(*found));
  }
  std::vector<SearchStart> threads;
  for (const auto& track : target_.roster.tracks()) {
    threads.push_back({track->entry.state, *main});
  }
  const Nanos deadline = now + kLongestLook;
  const TorchObjects objects = FindTorchObjects(target_.memory, layout, *classes_, threads, deadline);
  for (const HeldTensor& tensor : ListHeldTensors(target_.memory, layout, *classes_,
                                                  {.pid = target_.pid,
                                                  .objects = objects,
                                                  .has_old_strings = has_old_strings_,
                                                  .deadline = deadline + kLongestLook})) {
    if (reported_.emplace(tensor.role, tensor.address, tensor.name).second) {
      sink_(tensor);
    }
  }
  return !objects.modules.empty() && !objects.optimizers.empty();
}

}  // namespace ptrace_prof
