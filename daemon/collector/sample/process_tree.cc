#include "daemon/collector/sample/process_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attach/base/real_time.h"
#include "attach/base/reason.h"
#include "attach/proc/access_diagnosis.h"
#include "attach/proc/fork_trace.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/target/patient_open.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kFirstRetry = Nanos::FromMillis(20);
constexpr Nanos kLongestRetry = Nanos::FromSeconds(2);
constexpr Nanos kLongestRetryWhileStarting = Nanos::FromMillis(50);  // nothing is recorded meanwhile
constexpr Nanos kBeforeExec = Nanos::FromMillis(2);
constexpr int kMaxTries = 40;
constexpr size_t kMaxReportedDenied = 8;
constexpr size_t kMaxReportedStandstills = 8;
constexpr Nanos kShortStandstill = Nanos::FromMillis(100);
constexpr Nanos kExitsEvery = Nanos::FromMillis(100);
constexpr int kFirstTries = 3;  // a child that ended before that may have been a starting Python process

// Tries for a program that replaced a Python process; until then it may still be starting.
constexpr int kStartingTries = 8;

// Whether the refusal of PythonProcess::Open may pass: the interpreter is starting, or an exec is to come.
bool MayBecomePython(Code code) { return code == Code::kFailedPrecondition; }

}  // namespace

Result<void> ProcessTree::OpenRoot() {
  const auto open = [this] { return ProcessSampler::Open(TargetOf(context_.request), Pid(), context_); };
  auto opened =
      context_.request.spec().sample().wait_for_python() ? open() : OpenPatiently(TargetOf(context_.request), open);
  if (opened.has_error()) {
    if (opened.error().reason == Reason::kNotPython && !context_.request.spec().sample().no_subprocesses() &&
        OpenDescendants()) {
      return {};
    }
    if (!context_.request.spec().sample().wait_for_python() || !MayBecomePython(opened.error().code)) {
      return std::move(opened).error();
    }
    const Nanos now = MonotonicNow();
    candidates_[TargetOf(context_.request)] = {.next_try = now + kFirstRetry, .interval = kFirstRetry};
    return {};
  }
  samplers_.push_back(std::move(opened).value());
  ++processes_;
  return {};
}

// If the target itself is a shell, a launcher or a master and not Python.
bool ProcessTree::OpenDescendants() {
  auto launcher = OpenPidfd(TargetOf(context_.request));
  if (context_.request.spec().sample().wait_for_python() || launcher.has_error()) {
    return false;
  }
  const Nanos now = MonotonicNow();
  FindChildren(now);
  TryCandidates(now);
  if (samplers_.empty()) {
    return false;
  }
  launcher_ = std::move(launcher).value();
  candidates_[TargetOf(context_.request)] = {.next_try = now + kFirstRetry, .interval = kFirstRetry};
  context_.writer.AddNotice(
      now, fmt::format("process {} is not a Python process: its descendants are recorded, without their GPU work",
                       TargetOf(context_.request).value));
  return true;
}

void ProcessTree::Close(size_t index, Nanos now) {
  ProcessSampler& sampler = *samplers_[index];
  const bool exec = !sampler.HasExited() && sampler.HasExeced();
  if (on_close_) {
    on_close_(sampler);
  }
  ReportStandstill(now, sampler);
  sampler.Finish(now, exec);
  has_execed_ = has_execed_ || (exec && sampler.pid() == TargetOf(context_.request));
  closed_read_calls_ += sampler.read_calls();
  closed_stops_.Add(sampler.stop_times());
  if (!sampler.HasExited()) {  // another program, or an interpreter that was finalized and may be initialized again
    candidates_[sampler.pid()] = {.next_try = now + kFirstRetry, .interval = kFirstRetry, .is_counted = true};
  }
  samplers_.erase(samplers_.begin() + static_cast<std::ptrdiff_t>(index));
}

Nanos ProcessTree::NextInstant() const {
  Nanos next(INT64_MAX);
  for (const auto& sampler : samplers_) {
    next = std::min(next, sampler->NextInstant());
  }
  return next;
}

void ProcessTree::Sample(Pacer& pacer) {
  for (size_t i = 0; i < samplers_.size();) {
    if (samplers_[i]->NextInstant() > MonotonicNow() || samplers_[i]->Sample(pacer)) {
      ++i;
    } else {
      Close(i, MonotonicNow());
    }
  }
}

bool ProcessTree::is_waiting_for_stop() const {
  return std::ranges::any_of(samplers_, [](const auto& sampler) { return sampler->is_waiting(); });
}

Nanos ProcessTree::stopped_most() const {
  Nanos most;
  for (const auto& sampler : samplers_) {
    most = std::max(most, sampler->stop_times().total());
  }
  return most;
}

void ProcessTree::PollLate() {
  for (size_t i = 0; i < samplers_.size();) {
    if (!samplers_[i]->is_waiting() || samplers_[i]->PollLate()) {
      ++i;
    } else {
      Close(i, MonotonicNow());
    }
  }
}

void ProcessTree::FindChildren(Nanos now) {
  if (!children_.has_begun()) {
    children_.Begin(TargetOf(context_.request));
  }
  for (const ChildWatch::Birth& birth : children_.Look(now)) {
    if (samplers_.size() + candidates_.size() >= kMaxProcesses || children_.is_full()) {
      ReportTooMany(now);
      continue;
    }
    candidates_[birth.pid] = {.parent = birth.parent, .next_try = now, .interval = kFirstRetry};
  }
}

void ProcessTree::ReportTooMany(Nanos now) {
  if (!std::exchange(is_reported_too_many_, true)) {
    context_.writer.AddNotice(
        now, fmt::format("process {} has too many descendants: at most {} at once and {} in all are recorded",
                         TargetOf(context_.request).value, kMaxProcesses, ChildWatch::kMaxKnown));
  }
}

// Only the first of many refusals are reported, and the last notice says that there are more.
bool ProcessTree::MayFollow(Pid pid, Nanos now) {
  const auto why_not =
      context_.judge != nullptr && *context_.judge ? (*context_.judge)(pid) : std::optional<std::string>();
  if (!why_not.has_value()) {
    return true;
  }
  if (++denied_ <= kMaxReportedDenied) {
    context_.writer.AddNotice(
        now, fmt::format("process {} ({}) and its children are not recorded: {}{}", pid.value,
                         pid == TargetOf(context_.request) ? "another program now" : "a child", *why_not,
                         denied_ == kMaxReportedDenied ? "; further ones are not reported" : ""));
  }
  return false;
}

// A program that has just begun (exec) is not complete at first.
bool ProcessTree::MayOpenLater(Pid pid, const Candidate& candidate, const Error& error) {
  const bool has_just_begun =
      candidate.is_counted && candidate.tries < kStartingTries && error.code != Code::kPermissionDenied && IsThere(pid);
  // A refusal by policy is reported at the next try.
  return MayBecomePython(error.code) || error.reason == Reason::kPolicyDenied || has_just_begun;
}

void ProcessTree::TryCandidates(Nanos now) {
  const bool starting = context_.request.spec().sample().wait_for_python() && !has_opened();
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
    if (candidate.parent != Pid() && HaveOneMemory(pid, candidate.parent).value_or(false)) {
      candidate.next_try = now + kBeforeExec;  // the memory is still its parent's
      ++it;
      continue;
    }
    const UsualPriority usual;  // opening a process takes long
    auto opened = ProcessSampler::Open(pid, candidate.parent, context_);
    if (opened.has_value()) {
      samplers_.push_back(std::move(opened).value());
      processes_ += candidate.is_counted ? 0 : 1;
    } else if (MayOpenLater(pid, candidate, opened.error()) &&
               (++candidate.tries < kMaxTries || context_.request.spec().sample().wait_for_python())) {
      candidate.interval = std::min(Nanos(candidate.interval.value * 3 / 2), longest);
      candidate.next_try = now + candidate.interval;
      ++it;
      continue;
    } else if (opened.error().code == Code::kGone && candidate.parent != Pid() && candidate.tries < kFirstTries) {
      ++ended_unopened_;
    }
    it = candidates_.erase(it);
  }
}

bool ProcessTree::IsStartingAgain() const {
  const auto candidate = candidates_.find(TargetOf(context_.request));
  return candidate != candidates_.end() && candidate->second.is_counted && candidate->second.tries < kStartingTries;
}

void ProcessTree::LetGo(Nanos now) {
  if (now < next_exits_) {
    return;
  }
  next_exits_ = now + kExitsEvery;
  if (launcher_.is_open() && HasExited(launcher_)) {
    launcher_.reset();
  }
  for (size_t i = 0; i < samplers_.size();) {
    if (samplers_[i]->HasExited() || samplers_[i]->HasExeced()) {
      Close(i, now);
    } else {
      ++i;
    }
  }
}

void ProcessTree::Look(Nanos now) {
  LetGo(now);
  if (!context_.request.spec().sample().no_subprocesses()) {
    FindChildren(now);
  }
  TryCandidates(now);
}

void ProcessTree::ReportUnseen(Nanos now) {
  const ChildWatch::Unseen& unseen = children_.unseen();
  const uint64_t least = unseen.children + ended_unopened_;
  if (least + (unseen.cpu.value > 0 ? unseen.more : 0) == 0) {
    return;
  }
  context_.writer.AddNotice(
      now,
      fmt::format("at least {} child process{} ended before {} could be examined{}{}: not in the recording",
                  std::max<uint64_t>(least, 1), least > 1 ? "es" : "", least > 1 ? "they" : "it",
                  unseen.more > 0 ? fmt::format(" (and {} more at most)", unseen.more) : "",
                  unseen.cpu.value > 0 ? fmt::format(", with {:.2f} s of CPU or more", unseen.cpu.seconds()) : ""));
}

// Only the first of many are reported.
void ProcessTree::ReportStandstill(Nanos now, const ProcessSampler& sampler) {
  const Standstill& stood = sampler.standstill();
  if (stood.total() > kShortStandstill && ++stood_still_ <= kMaxReportedStandstills) {
    context_.writer.AddNotice(now, fmt::format("process {} was stopped for {:.1f} s by {}: tables and graphs leave "
                                               "that time out, unless they show waiting (--idle all)",
                                               sampler.pid().value, stood.total().seconds(), stood.by()));
  }
}

void ProcessTree::ReportAtEnd(Nanos now) {
  for (const auto& sampler : samplers_) {
    ReportStandstill(now, *sampler);
  }
  ReportUnseen(now);
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
  const StopRefusal* refusal = nullptr;
  for (const auto& sampler : samplers_) {
    const bool is_refused = sampler->stop_refusal().has_value();
    if (is_refused && sampler->pid() == TargetOf(context_.request)) {
      return &*sampler->stop_refusal();
    }
    if (!is_refused && launcher_.is_open()) {
      return nullptr;  // another process can be sampled
    }
    refusal = is_refused && launcher_.is_open() ? &*sampler->stop_refusal() : refusal;
  }
  return refusal;
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
  StopTimes stops = closed_stops_;
  size_t threads = 0;
  for (const auto& sampler : samplers_) {
    accounting.read_calls += sampler->read_calls();
    stops.Add(sampler->stop_times());
    threads += sampler->thread_count();
  }
  accounting.stops = stops.count();
  accounting.stopped_total = stops.total();
  accounting.stopped_longest = stops.longest();
  accounting.stopped_median = stops.Quantile(0.5);
  accounting.stopped_p90 = stops.Quantile(0.9);
  accounting.processes = processes_;
  accounting.threads = std::max<uint64_t>(accounting.threads, threads);
}

}  // namespace ptrace_prof
