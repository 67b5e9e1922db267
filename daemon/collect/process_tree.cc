#include "daemon/collect/process_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kFirstRetry = Nanos::FromMillis(20);
constexpr Nanos kLongestRetry = Nanos::FromSeconds(2);
constexpr Nanos kLongestRetryWhileStarting = Nanos::FromMillis(50);  // nothing is recorded meanwhile
constexpr int kMaxTries = 40;
constexpr size_t kMaxToldDenied = 8;
constexpr size_t kMaxKnown = 65536;  // remembered pids; a fork bomb must not grow us

// Can what PythonProcess::Open refused become possible later (interpreter still starting, exec to come)?
bool MayBecomePython(Code code) { return code == Code::kFailedPrecondition; }

}  // namespace

Result<void> ProcessTree::OpenRoot() {
  auto opened = ProcessSampler::Open(context_.request.pid, Pid(), context_, &links_);
  if (opened.has_error()) {
    if (!context_.request.wait_for_python || !MayBecomePython(opened.error().code)) {
      return std::move(opened).error();
    }
    const Nanos now = MonotonicNow();
    candidates_[context_.request.pid] = {.next_try = now + kFirstRetry, .interval = kFirstRetry};
    return {};
  }
  samplers_.push_back(std::move(opened).value());
  ++processes_;
  if (const auto start = ReadStartTime(context_.request.pid); start.has_value()) {
    known_[context_.request.pid] = start.value();
  }
  return {};
}

void ProcessTree::Close(size_t index, Nanos now) {
  ProcessSampler& sampler = *samplers_[index];
  const bool exec = !sampler.HasExited() && sampler.HasExeced();
  if (on_close_) {
    on_close_(sampler);
  }
  sampler.Finish(now, exec);
  has_execed_ = has_execed_ || (exec && sampler.pid() == context_.request.pid);
  closed_read_calls_ += sampler.read_calls();
  closed_stops_ += sampler.verifier_counters().stops;
  closed_stopped_ = closed_stopped_ + sampler.verifier_counters().stopped_total;
  closed_stopped_longest_ = std::max(closed_stopped_longest_, sampler.verifier_counters().stopped_longest);
  if (!sampler.HasExited()) {  // another program now, or an interpreter that came down: it may come up again
    candidates_[sampler.pid()] = {.next_try = now + kFirstRetry, .interval = kFirstRetry, .fresh_exec = exec};
  }
  samplers_.erase(samplers_.begin() + static_cast<std::ptrdiff_t>(index));
}

void ProcessTree::Sample(Nanos now) {
  context_.accounting.rounds += samplers_.empty() ? 0 : 1;
  for (size_t i = 0; i < samplers_.size();) {
    if (samplers_[i]->Sample(now)) {
      ++i;
    } else {
      Close(i, now);
    }
  }
}

void ProcessTree::FindChildren(Nanos now, Pid of) {
  const auto children = ListChildren(of);
  if (children.has_error()) {
    return;
  }
  for (const Pid child : children.value()) {
    const auto start = ReadStartTime(child);
    if (start.has_error()) {
      continue;
    }
    const auto found = known_.find(child);
    if (found != known_.end() && found->second == start.value()) {
      continue;
    }
    if (samplers_.size() + candidates_.size() >= kMaxProcesses || known_.size() >= kMaxKnown) {
      TellTooMany(now);
      continue;
    }
    known_[child] = start.value();
    candidates_[child] = {.parent = of, .next_try = now, .interval = kFirstRetry};
  }
}

void ProcessTree::TellTooMany(Nanos now) {
  if (!std::exchange(is_told_too_many_, true)) {
    context_.writer.AddNotice(now,
                              fmt::format("process {} has more processes than are followed ({} at once, {} in all): "
                                          "the others are not recorded",
                                          context_.request.pid.value, kMaxProcesses, kMaxKnown));
  }
}

// Of many that are denied the first ones are told, and that there are more.
bool ProcessTree::MayFollow(Pid pid, Nanos now) {
  const auto why_not =
      context_.judge != nullptr && *context_.judge ? (*context_.judge)(pid) : std::optional<std::string>();
  if (!why_not.has_value()) {
    return true;
  }
  if (++denied_ <= kMaxToldDenied) {
    context_.writer.AddNotice(now,
                              fmt::format("process {}, {}, is not recorded, nor are its children: {}{}", pid.value,
                                          pid == context_.request.pid ? "another program now" : "a child", *why_not,
                                          denied_ == kMaxToldDenied ? "; more of them are not told" : ""));
  }
  return false;
}

void ProcessTree::TryCandidates(Nanos now) {
  const bool starting = context_.request.wait_for_python && !has_opened();
  const Nanos longest = starting ? kLongestRetryWhileStarting : kLongestRetry;
  for (auto it = candidates_.begin(); it != candidates_.end();) {
    auto& [pid, candidate] = *it;
    if (now < candidate.next_try) {
      ++it;
      continue;
    }
    if (!MayFollow(pid, now)) {
      it = candidates_.erase(it);
      continue;
    }
    auto opened = ProcessSampler::Open(pid, candidate.parent, context_, &links_);
    if (opened.has_value()) {
      samplers_.push_back(std::move(opened).value());
      ++processes_;
    } else if ((MayBecomePython(opened.error().code) || opened.error().reason == Reason::kPolicyDenied) &&  // then told
               (++candidate.tries < kMaxTries || context_.request.wait_for_python)) {
      candidate.interval = std::min(Nanos(candidate.interval.value * 3 / 2), longest);
      candidate.next_try = now + candidate.interval;
      ++it;
      continue;
    }
    it = candidates_.erase(it);
  }
}

void ProcessTree::Look(Nanos now) {
  for (size_t i = 0; i < samplers_.size();) {
    if (samplers_[i]->HasExited() || samplers_[i]->HasExeced()) {
      Close(i, now);
    } else {
      ++i;
    }
  }
  if (context_.request.subprocesses) {
    for (size_t i = 0; i < samplers_.size(); ++i) {
      FindChildren(now, samplers_[i]->pid());
    }
    std::vector<Pid> others;  // a shell or launcher may start the interpreter
    for (const auto& [pid, candidate] : candidates_) {
      others.push_back(pid);
    }
    for (const Pid pid : others) {
      FindChildren(now, pid);
    }
  }
  TryCandidates(now);
}

void ProcessTree::Flush() {
  for (const auto& sampler : samplers_) {
    sampler->Flush();
  }
}

void ProcessTree::ForgetStacks() {
  for (const auto& sampler : samplers_) {
    sampler->ForgetStacks();
  }
}

const StopRefusal* ProcessTree::stop_refusal() const {
  for (const auto& sampler : samplers_) {
    if (sampler->pid() == context_.request.pid && sampler->stop_refusal().has_value()) {
      return &*sampler->stop_refusal();
    }
  }
  return nullptr;
}

size_t ProcessTree::node_count() const {
  size_t count = 0;
  for (const auto& sampler : samplers_) {
    count += sampler->node_count();
  }
  return count;
}

void ProcessTree::CountInto(Accounting& accounting) const {
  accounting.read_calls = closed_read_calls_;
  uint64_t stops = closed_stops_;
  Nanos stopped = closed_stopped_;
  Nanos longest = closed_stopped_longest_;
  size_t threads = 0;
  for (const auto& sampler : samplers_) {
    accounting.read_calls += sampler->read_calls();
    stops += sampler->verifier_counters().stops;
    stopped = stopped + sampler->verifier_counters().stopped_total;
    longest = std::max(longest, sampler->verifier_counters().stopped_longest);
    threads += sampler->thread_count();
  }
  if (!context_.request.blocking) {
    accounting.stops = stops;
    accounting.stopped_total = stopped;
    accounting.stopped_longest = longest;
  }
  accounting.processes = processes_;
  accounting.threads = std::max<uint64_t>(accounting.threads, threads);
}

}  // namespace ptrace_prof
