#include "daemon/collector/gpu/gpu_call_sites.h"

#include <fmt/format.h>

#include <string_view>

#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxLaunchThreads = 8192;
constexpr Nanos kSampledMost = Nanos::FromMillis(100);  // a sample further away says nothing
constexpr std::string_view kEngineThread = "pt_autograd";

}  // namespace

void GpuThreadSites::Refresh() {
  std::erase_if(threads_, [](const auto& entry) { return !entry.second.is_own; });
  for (const auto& track : roster_.tracks()) {
    if (track->info.ns_tid != Tid()) {
      threads_[static_cast<uint32_t>(track->info.ns_tid.value)] = {
          .handle = track->handle, .tid = track->info.tid, .is_engine = track->info.name.starts_with(kEngineThread)};
    }
  }
}

// Adds a thread that is unknown to Python or has ended.
GpuThreadSites::Known GpuThreadSites::AddUnknown(Tid inner) {
  Known known{.handle = {}, .tid = inner, .is_engine = false, .is_own = true};
  std::string name = fmt::format("thread {}", inner.value);
  if (const auto threads = ListThreads(pid_); threads.has_value()) {
    for (const Tid tid : threads.value()) {
      const auto as_target = ReadNamespacedTid(pid_, tid);
      if (as_target.has_value() && as_target.value() == inner) {
        known.tid = tid;
        const auto comm = ReadThreadName(pid_, tid);
        name = comm.has_value() ? comm.value() : name;
        break;
      }
    }
  }
  known.is_engine = name.starts_with(kEngineThread);
  known.handle = writer_.AddThread({.pid = pid_, .tid = known.tid, .ns_tid = inner, .name = name});
  return known;
}

const GpuThreadSites::Known& GpuThreadSites::Find(uint32_t thread) {
  if (const auto found = threads_.find(thread); found != threads_.end()) {
    return found->second;
  }
  if (threads_.size() >= kMaxLaunchThreads) {  // the target invents threads
    return threads_.begin()->second;
  }
  return threads_.emplace(thread, AddUnknown(Tid(static_cast<int32_t>(thread)))).first->second;
}

GpuEngineWait GpuThreadSites::WaitFor(Nanos when) const {
  GpuEngineWait wait(stacks_);
  history_.ForEachThread([&](ThreadHandle thread) {
    const std::optional<StackId> stack =
        kind_ == GpuStackKind::kTraced ? history_.At(thread, when) : history_.Nearest(thread, when, kSampledMost);
    if (stack) {
      wait.Look(*stack);
    }
  });
  return wait;
}

GpuCallSite GpuThreadSites::Of(const GpuCallPlace& call) {
  const Known& known = Find(call.thread);
  const Nanos when = call.begin;
  GpuCallSite site{.thread = known.handle, .tid = known.tid};
  if (const std::optional<StackId> taken = launches_.Of(call.correlation, when)) {
    site.stack = *taken;
    site.source = GpuStackSource::kLaunch;
    return site;
  }
  const std::optional<StackId> stack = kind_ == GpuStackKind::kTraced
                                           ? history_.At(known.handle, when)
                                           : history_.Nearest(known.handle, when, kSampledMost);
  if (stack && *stack != kEmptyStack) {
    site.stack = *stack;
    site.source = kind_ == GpuStackKind::kTraced ? GpuStackSource::kExact : GpuStackSource::kSampled;
  } else if (known.is_engine) {
    const GpuEngineWait wait = WaitFor(when);
    site.stack = wait.stack();
    site.is_ambiguous = wait.is_ambiguous();
    site.source = site.stack != kEmptyStack ? GpuStackSource::kBackward : GpuStackSource::kNone;
  }
  return site;
}

}  // namespace ptrace_prof
