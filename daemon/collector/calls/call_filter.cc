#include "daemon/collector/calls/call_filter.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxNoted = size_t{1} << 20;

// "/srv/app/train.py" → "/srv/app/train", "/srv/app/__init__.py" → "/srv/app", "<frozen os>" → "os".
std::string_view ModulePath(std::string_view file) {
  constexpr std::string_view kFrozen = "<frozen ";
  if (file.starts_with(kFrozen) && file.ends_with('>')) {
    return file.substr(kFrozen.size(), file.size() - kFrozen.size() - 1);
  }
  const size_t dot = file.rfind('.');
  const size_t slash = file.rfind('/');
  if (dot == std::string_view::npos || (slash != std::string_view::npos && dot < slash)) {
    return {};  // "<string>"
  }
  file = file.substr(0, dot);
  constexpr std::string_view kPackage = "/__init__";
  return file.ends_with(kPackage) ? file.substr(0, file.size() - kPackage.size()) : file;
}

// Tries the path, and its rest after each leading folder is removed.
bool MatchesSomeEnd(const NameGlob& glob, std::string_view path, char separator) {
  while (!path.empty()) {
    if (glob.Matches(path)) {
      return true;
    }
    const size_t at = path.find(separator);
    if (at == std::string_view::npos) {
      return false;
    }
    path.remove_prefix(at + 1);
  }
  return false;
}

struct Names {
  explicit Names(const Frame& frame) : function(frame.function), file(frame.file), module(ModulePath(frame.file)) {
    std::replace(module.begin(), module.end(), '/', '.');
    if (!module.empty()) {
      whole = module + "." + frame.function;
      folders = module.size();
    }
  }
  bool Match(const NameGlob& glob) const {
    return glob.Matches(function) || MatchesSomeEnd(glob, file, '/') || MatchesSomeEnd(glob, module, '.') ||
           MatchesWhole(glob);
  }

 private:
  // In module and function together only folders may be missing, no part of the qualified name.
  bool MatchesWhole(const NameGlob& glob) const {
    for (size_t from = 0; from < folders;) {
      if (glob.Matches(std::string_view(whole).substr(from))) {
        return true;
      }
      from = std::min(whole.find('.', from), folders) + 1;
    }
    return false;
  }

  std::string_view function;
  std::string_view file;
  std::string module;
  std::string whole;
  size_t folders = 0;
};

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
  const Names names(function);
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
