#include "daemon/export/gpu_idle.h"

#include <algorithm>

namespace ptrace_prof {

void GpuIdle::Add(const GpuOperation& operation) {
  const BusyInterval interval{operation.begin.value, std::max(operation.end, operation.begin).value,
                              operation.launched.value, operation.launched.value};
  switch (operation.kind) {
    case GpuOperationKind::kKernel:
    case GpuOperationKind::kGraph: kernels_.Add(interval); break;
    case GpuOperationKind::kMemcpy:
    case GpuOperationKind::kMemset: copies_.Add(interval); break;
    case GpuOperationKind::kSync:
      if (operation.sync != GpuSync::kStreamWaitEvent) {  // in that kind of wait the host goes on
        waits_.Add(interval);
      }
      break;
    case GpuOperationKind::kOverhead: break;
  }
}

void GpuIdle::AddGap(const BusyInterval& before, const BusyInterval& after, GpuTime& time) {
  const int64_t begin = before.end;
  const int64_t end = after.begin;
  const int64_t launched = after.first_launch == 0 ? end : std::clamp(after.first_launch, begin, end);
  const auto idle_within = [&](int64_t from, int64_t to) { return to - from - copies_.Within(from, to); };
  time.copying.value += copies_.Within(begin, end);
  time.launch.value += idle_within(launched, end);
  auto wait = waits_.FirstAfter(begin - 1);
  int64_t waited_until = 0;
  for (; wait != waits_.Sorted().end() && wait->begin < launched; ++wait) {
    waited_until = std::min(wait->end, launched);
  }
  const int64_t soon = kSoon.value;
  if (waited_until > 0) {
    const int64_t until = launched - waited_until <= soon ? launched : waited_until;
    time.sync.value += idle_within(begin, until);
    time.nothing.value += idle_within(until, launched);
  } else if (before.last_launch != 0 && launched - before.last_launch <= soon) {
    time.launch.value += idle_within(begin, launched);
  } else {
    time.nothing.value += idle_within(begin, launched);
  }
}

GpuTime GpuIdle::Result() {
  GpuTime time;
  const auto& kernels = kernels_.Sorted();
  const auto& copies = copies_.Sorted();
  if (kernels.empty() && copies.empty()) {
    return time;
  }
  const auto first = [](const auto& a, const auto& b) {
    return a.empty() ? b.front().begin : b.empty() ? a.front().begin : std::min(a.front().begin, b.front().begin);
  };
  const auto last = [](const auto& a, const auto& b) {
    return a.empty() ? b.back().end : b.empty() ? a.back().end : std::max(a.back().end, b.back().end);
  };
  const int64_t begin = first(kernels, copies);
  const int64_t end = last(kernels, copies);
  time.all = Nanos(end - begin);
  BusyInterval before{begin, begin, 0, 0};
  for (const BusyInterval& kernel : kernels) {
    AddGap(before, kernel, time);
    time.kernels.value += kernel.end - kernel.begin;
    before = kernel;
  }
  AddGap(before, {end, end, 0, 0}, time);
  return time;
}

}  // namespace ptrace_prof
