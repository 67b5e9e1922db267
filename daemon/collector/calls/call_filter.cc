#include "daemon/collector/calls/call_filter.h"

#include <algorithm>
#include <functional>
#include <string>

#include "daemon/collector/calls/function_names.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNoted = size_t{1} << 20;

}  // namespace

CallFilter::CallFilter(const v1::TraceOptions& options) {
  excludes_ = Compile(options.exclude(), LeftOutCause::kExcluded);
  filters_ = Compile(options.filter(), LeftOutCause::kFilter);
  if (!filters_.empty()) {
    rows_.push_back({.cause = LeftOutCause::kNotFiltered});
    not_filtered_ = LeftOutBy(static_cast<uint16_t>(rows_.size()));
  }
}

std::vector<CallFilter::Pattern> CallFilter::Compile(const google::protobuf::RepeatedPtrField<std::string>& globs,
                                                     LeftOutCause cause) {
  std::vector<Pattern> patterns;
  for (const std::string& text : globs) {
    auto glob = NameGlob::Compile(text);
    if (glob.has_value()) {
      rows_.push_back({.cause = cause, .what = text});
      patterns.push_back({std::move(glob).value(), LeftOutBy(static_cast<uint16_t>(rows_.size()))});
    }
  }
  return patterns;
}

LeftOutBy CallFilter::Weigh(const Frame& function) {
  if (!IsInUse() || function.kind == FrameKind::kMarker) {
    return kShown;
  }
  const FunctionNames names(function);
  LeftOutBy by = kShown;
  for (const Pattern& pattern : excludes_) {
    if (names.Match(pattern.glob)) {
      NoteFunction(pattern.row, function);
      by = by == kShown ? pattern.row : by;
    }
  }
  if (by != kShown || filters_.empty() || function.kind != FrameKind::kPython) {
    return by;
  }
  bool is_filtered = false;
  for (const Pattern& pattern : filters_) {
    if (names.Match(pattern.glob)) {
      NoteFunction(pattern.row, function);
      is_filtered = true;
    }
  }
  if (is_filtered) {
    return kShown;
  }
  NoteFunction(not_filtered_, function);
  return not_filtered_;
}

void CallFilter::NoteFunction(LeftOutBy by, const Frame& function) {
  const std::string key =
      std::to_string(by.value) + '\0' + function.function + '\0' + function.file + '\0' + std::to_string(function.line);
  if (noted_.size() < kMaxNoted && noted_.insert(std::hash<std::string>{}(key)).second) {
    ++RowOf(by).functions;
  }
}

namespace {

bool IsCounted(LeftOutBy by) { return by != kShown && by != kNoCall && by != kOurOwn; }

}  // namespace

void CallFilter::CountCall(LeftOutBy by) {
  if (IsCounted(by)) {
    ++RowOf(by).calls;
  }
}

void CallFilter::NoteSwitchedOff(LeftOutBy by) {
  if (IsCounted(by)) {
    RowOf(by).switched_off = true;
  }
}

}  // namespace ptrace_prof
