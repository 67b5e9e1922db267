#include "daemon/collector/calls/function_names.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

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

}  // namespace

FunctionNames::FunctionNames(const Frame& frame)
    : function_(frame.function), file_(frame.file), module_(ModulePath(frame.file)) {
  std::replace(module_.begin(), module_.end(), '/', '.');
  if (!module_.empty()) {
    whole_ = module_ + "." + frame.function;
    folders_ = module_.size();
  }
}

bool FunctionNames::Match(const NameGlob& glob) const {
  return glob.Matches(function_) || MatchesSomeEnd(glob, file_, '/') || MatchesSomeEnd(glob, module_, '.') ||
         MatchesWhole(glob);
}

// In module and function together only folders may be missing, no part of the qualified name.
bool FunctionNames::MatchesWhole(const NameGlob& glob) const {
  for (size_t from = 0; from < folders_;) {
    if (glob.Matches(std::string_view(whole_).substr(from))) {
      return true;
    }
    from = std::min(whole_.find('.', from), folders_) + 1;
  }
  return false;
}

}  // namespace ptrace_prof
