#include "daemon/collector/calls/call_window.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr Nanos kNoEndOfWindow = Nanos(INT64_MAX);
constexpr size_t kMaxStretchesReported = 20;

std::string Things(uint64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

// "0 to 2, 7, 9 to 10"
std::string StretchesText(std::span<const StepMarker::Stretch> stretches) {
  std::string text;
  for (const auto& [first, last] : stretches.first(std::min(stretches.size(), kMaxStretchesReported))) {
    text += text.empty() ? "" : ", ";
    text += first == last ? std::to_string(first) : fmt::format("{} to {}", first, last);
  }
  return text + (stretches.size() > kMaxStretchesReported ? ", …" : "");
}

}  // namespace

CallWindow::CallWindow(const CaptureTask& request, const PythonVersion& version, StepMarker& steps, Report report)
    : request_(request), facts_(FactsOf(version)), steps_(steps), report_(std::move(report)) {}

bool CallWindow::ends_by_steps() const {
  const v1::TraceOptions& asked = request_.spec().trace();
  return !gave_up_ && (asked.steps() > 0 || asked.schedule().repeat() > 0);
}

Nanos CallWindow::Length() const {
  if (DurationOf(request_).value > 0) {
    return DurationOf(request_);
  }
  const Nanos longest = ToNanos(request_.longest()).value > 0 ? ToNanos(request_.longest()) : kNoEndOfWindow;
  return facts_.slows_every_bytecode() && !ends_by_steps() ? std::min(waited_ + kTaxedWindow, longest) : longest;
}

Nanos CallWindow::StepPatience() const { return std::min(kStepPatience, Nanos(Length().value / 2)); }

void CallWindow::ReportCaveats() const {
  if (facts_.slows_every_bytecode()) {
    const bool by_default = DurationOf(request_).value == 0 && Length() == kTaxedWindow;
    const std::string window =
        by_default ? fmt::format("; recording lasts {:g} s (--duration changes that)", kTaxedWindow.seconds()) : "";
    report_(
        fmt::format("tracing slows down every bytecode of CPython {}, not only calls: a loop without calls takes "
                    "about {:g} times as long{}",
                    facts_.name(), facts_.bytecode_tax, window));
  }
  const v1::TraceOptions& asked = request_.spec().trace();
  if (asked.has_schedule() && !CautionOf(asked.schedule()).empty()) {
    report_(CautionOf(asked.schedule()));
  }
}

bool CallWindow::IsOver(Nanos now, uint64_t lost) {
  if (lost > 0 && request_.spec().trace().on_full() == v1::ON_FULL_STOP) {
    lost_at_end_ = lost;
    return true;
  }
  LookForSteps(now);
  return steps_.is_over() || now - begin_ >= Length();
}

std::string_view CallWindow::NoStep() const {
  return request_.spec().trace().step_function_size() > 0 ? "no function that --step-function matches returned"
                                                          : "no torch.optim.Optimizer step finished";
}

void CallWindow::LookForSteps(Nanos now) {
  if (gave_up_ || !steps_.has_plan() || steps_.step().has_value() || now - begin_ < StepPatience()) {
    return;
  }
  const std::string looked = fmt::format("{} in {:g} s", NoStep(), StepPatience().seconds());
  waited_ = ends_by_steps() ? now - begin_ : Nanos();
  gave_up_ = true;
  steps_.GiveUp(now);
  const Nanos left = begin_ + std::min(Length(), kNoEndOfWindow - begin_) - now;
  const std::string until = Length() == kNoEndOfWindow ? std::string("until the process ends or you stop the recording")
                                                       : fmt::format("for {:.1f} s", std::max(left, Nanos()).seconds());
  report_(fmt::format("{}: everything is recorded from now on, {}", looked, until));
}

void CallWindow::ReportAfter(Nanos now, const LeftAside& aside) const {
  if (lost_at_end_ > 0) {
    report_(fmt::format("recording ended after {:.3f} s: a buffer was full and {} lost (--on-full stop)",
                        (now - begin_).seconds(), Things(lost_at_end_, "event was", "events were")));
  }
  ReportSteps(now);
  if (aside.children > 0) {
    report_(fmt::format("{} of process {} {} not traced: record each with its own --pid",
                        Things(aside.children, "child process", "child processes"), TargetOf(request_).value,
                        aside.children == 1 ? "was" : "were"));
  }
  if (aside.interpreters > 0) {
    report_(
        fmt::format("{} of process {} {} not traced, only its main interpreter: samples include all of them (record "
                    "without --mode trace)",
                    Things(aside.interpreters, "subinterpreter", "subinterpreters"), TargetOf(request_).value,
                    aside.interpreters == 1 ? "was" : "were"));
  }
}

void CallWindow::ReportSteps(Nanos now) const {
  if (!steps_.step().has_value()) {
    if (steps_.has_plan() && !gave_up_) {
      report_(fmt::format("{} in {:.1f} s: nothing was recorded", NoStep(), (now - begin_).seconds()));
    }
    return;
  }
  const uint64_t recorded = steps_.recorded_steps();
  const uint64_t asked = request_.spec().trace().steps();
  if (recorded > 0) {
    report_(fmt::format("recorded {}: {}{}", Things(recorded, "whole step", "whole steps"),
                        StretchesText(steps_.stretches()),
                        recorded < asked ? fmt::format(" (of {} requested)", asked) : ""));
  } else if (steps_.has_plan()) {
    report_(fmt::format("no whole step was recorded: recording ended during step {}, counted from 0", *steps_.step()));
  }
}

}  // namespace ptrace_prof
