#include "daemon/export/operator_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostKeptOperators = 1 << 22;
constexpr std::string_view kModulePrefix = "nn.Module: ";
constexpr std::string_view kEvaluatesBackward = "autograd::engine::evaluate_function: ";

// The last element that begins no later.
template <typename Element>
const Element* LastBefore(const std::vector<Element>& elements, Nanos when) {
  const auto after = std::ranges::upper_bound(elements, when, {}, &Element::begin);
  return after == elements.begin() ? nullptr : &*(after - 1);
}

}  // namespace

void OperatorGroups::OnSpan(const Span& span) {
  if (UsesStacks()) {
    threads_.OnSpan(span);
  }
}

void OperatorGroups::OnSample(TrackId track, Nanos when, StackId stack) {
  if (UsesStacks()) {
    threads_.OnSample(track, when, stack);
  }
}

void OperatorGroups::Add(TrackId track, const Operator& one, uint64_t flops, std::optional<std::string> group) {
  if (kept_.size() >= kMostKeptOperators) {
    ++left_out_;
    return;
  }
  kept_.push_back({track, one, flops, std::move(group)});
  kept_.back().one.inputs = nullptr;
}

void OperatorGroups::Add(TrackId track, const GpuApiCall& call) {
  if (kept_.size() < kMostKeptOperators) {
    const bool has_late_group = UsesStacks() || options_.grouping == OperatorGrouping::kStep;
    const Operator as_operator{.begin = call.begin, .end = call.end, .name = call.name};
    kept_.push_back({track, as_operator, 0, has_late_group ? std::nullopt : std::optional<std::string>(""), true});
    has_calls_ = true;
  }
}

void OperatorGroups::Add(OperatorThread launched_by, const GpuOperation& operation) {
  if (operation.launched.value != 0 && launched_.size() < kMostKeptOperators) {
    launched_.push_back({launched_by, operation.launched, operation.end - operation.begin});
  }
}

// By index of kept_.
std::vector<Nanos> OperatorGroups::DeviceTimes() {
  std::vector<Nanos> times(kept_.size());
  OperatorLinks links;
  for (size_t i = 0; i < kept_.size() && !launched_.empty(); ++i) {
    if (const Operator& one = kept_[i].one; !kept_[i].is_call && !one.is_range() && !one.is_async) {
      links.Add(threads_.ThreadOf(kept_[i].track), one.begin, one.end, i);
    }
  }
  for (const Launched& launched : launched_) {
    if (const auto index = links.At(launched.thread, launched.when)) {
      times[*index] = times[*index] + launched.took;
    }
  }
  return times;
}

std::optional<StackId> OperatorGroups::StackOf(const Kept& kept) const {
  return threads_.StackOf(kept.track, kept.one.begin, kept.one.end);
}

// Innermost first, as torch.profiler shows it; or the innermost module.
std::string OperatorGroups::Describe(StackId stack) const {
  std::string text;
  size_t frames = 0;
  for (; stack != kEmptyStack && frames < options_.frames; stack = stacks_.parent(stack)) {
    const Frame& frame = stacks_.frame(stacks_.leaf(stack));
    if (options_.grouping == OperatorGrouping::kModule) {
      if (frame.kind == FrameKind::kModule && frame.function.starts_with(kModulePrefix)) {
        return CleanText(frame.function.substr(kModulePrefix.size()));
      }
      continue;
    }
    text += fmt::format("{}{}", text.empty() ? "" : kFrameSeparator, FrameText(frame));
    ++frames;
  }
  return text.empty() ? std::string(options_.grouping == OperatorGrouping::kModule ? "[no module]" : "[no Python]")
                      : text;
}

const std::string& OperatorGroups::TextOf(StackId stack) {
  const auto [text, is_new] = texts_.try_emplace(stack);
  if (is_new) {
    text->second = Describe(stack);
  }
  return text->second;
}

std::string OperatorGroups::StepOf(const Operator& one) const {
  const RecordedStep* step = LastBefore(steps_, one.begin);
  return step != nullptr && one.begin < step->end ? fmt::format("ProfilerStep#{}", step->number) : "[no step]";
}

// The modules of backward operators. Several operators may have one number: the first that ended is the innermost.
void OperatorGroups::FindBackwards() {
  std::map<std::pair<uint32_t, int64_t>, std::string> forward;
  for (const Kept& kept : kept_) {
    const Operator& one = kept.one;
    if (one.sequence >= 0 && one.forward_thread == 0 && one.scope == OperatorScope::kFunction) {
      if (const std::optional<StackId> stack = StackOf(kept)) {
        forward.try_emplace({one.thread, one.sequence}, TextOf(*stack));
      }
    }
  }
  for (const Kept& kept : kept_) {
    const Operator& one = kept.one;
    if (one.sequence < 0 || one.forward_thread == 0 || one.scope != OperatorScope::kBackwardFunction) {
      continue;
    }
    if (const auto found = forward.find({one.forward_thread, one.sequence}); found != forward.end()) {
      backwards_[threads_.ThreadOf(kept.track)].push_back({one.begin, one.end, found->second + ", backward"});
    }
  }
  for (auto& [thread, backwards] : backwards_) {
    std::ranges::stable_sort(backwards, {}, &Backward::begin);
  }
}

const std::string* OperatorGroups::BackwardGroup(const Kept& kept) const {
  const auto thread = backwards_.find(threads_.ThreadOf(kept.track));
  if (thread == backwards_.end()) {
    return nullptr;
  }
  const Operator& one = kept.one;
  if (one.name.starts_with(kEvaluatesBackward)) {  // it contains the one that says whose it is
    const auto inside = std::ranges::lower_bound(thread->second, one.begin, {}, &Backward::begin);
    return inside != thread->second.end() && inside->end <= one.end ? &inside->group : nullptr;
  }
  const Backward* around = LastBefore(thread->second, one.begin);
  return around != nullptr && one.end <= around->end ? &around->group : nullptr;
}

std::string OperatorGroups::GroupOf(const Kept& kept) {
  if (kept.group.has_value()) {
    return *kept.group;
  }
  if (options_.grouping == OperatorGrouping::kStep) {
    return StepOf(kept.one);
  }
  if (const std::string* backward = BackwardGroup(kept)) {
    return *backward;
  }
  if (const std::optional<StackId> stack = StackOf(kept)) {
    return TextOf(*stack);
  }
  return recording_.exact ? "[no Python]" : "[not sampled]";
}

void OperatorGroups::Finish(const Visit& visit) {
  if (options_.grouping == OperatorGrouping::kModule) {
    FindBackwards();
  }
  steps_ = recording_.steps;
  std::ranges::stable_sort(steps_, {}, &RecordedStep::begin);
  if (has_calls_) {  // among the operators that make them
    std::ranges::stable_sort(kept_, [](const Kept& a, const Kept& b) {
      return a.one.end != b.one.end ? a.one.end < b.one.end : b.one.begin < a.one.begin;
    });
  }
  const std::vector<Nanos> device = DeviceTimes();
  for (size_t i = 0; i < kept_.size(); ++i) {
    visit(kept_[i].track, kept_[i].one, kept_[i].flops, GroupOf(kept_[i]), device[i]);
  }
}

}  // namespace ptrace_prof
