// Reads arbitrary bytes as the task of a collector: whatever is accepted is in range and survives its encoding.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "attach/base/hexadecimal.h"
#include "rpc/messages/check_spec.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

}  // namespace

void Run(std::string_view bytes) {
  auto task = DecodeTask("task=" + ToHexadecimal(bytes));
  if (task.has_error()) {
    Require(task.error().message.size() < 512);
    return;
  }
  Require(TargetOf(task.value()).value >= 0 && DurationOf(task.value()).value >= 0);
  FillDefaults(task.value().mutable_spec());
  const v1::SampleOptions& sample = task.value().spec().sample();
  Require(RateOf(sample) >= 0 && RateOf(sample) <= kMostRateHz && OverheadLimitOf(sample) >= 0);
  const auto again = DecodeTask(EncodeTask(task.value()));
  Require(again.has_value() && SerialisedSpec(again.value().spec()) == SerialisedSpec(task.value().spec()));
}

}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ptrace_prof::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
