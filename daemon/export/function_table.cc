#include "daemon/export/function_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "attach/base/clean_text.h"

namespace ptrace_prof {

uint32_t FunctionTable::IdOf(FrameId frame) {
  if (frame.value >= id_of_frame_.size()) {
    id_of_frame_.resize(std::max<size_t>(frame.value + 1, stacks_.frame_count()));
  }
  uint32_t& known = id_of_frame_[frame.value];
  if (known != 0) {
    return known - 1;
  }
  const Frame& info = stacks_.frame(frame);
  const int32_t line = by_line_ ? info.line : info.first_line;
  const std::string key =
      fmt::format("{}\x01{}\x01{}\x01{}", info.function, info.file, line, static_cast<int>(info.kind));
  const auto [entry, is_new] = id_of_key_.try_emplace(key, static_cast<uint32_t>(functions_.size()));
  if (is_new) {
    functions_.push_back({CleanText(info.function), CleanText(info.file), std::max(line, 0), info.kind});
  }
  known = entry->second + 1;
  return entry->second;
}

void FunctionTable::PathOf(StackId stack, std::vector<uint32_t>& path) {
  path.clear();
  for (; stack != kEmptyStack; stack = stacks_.parent(stack)) {
    path.push_back(IdOf(stacks_.leaf(stack)));
  }
  std::reverse(path.begin(), path.end());
}

std::string_view ShortPath(std::string_view path) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    if (const size_t at = path.rfind(folder); at != std::string_view::npos) {
      return path.substr(at + folder.size());
    }
  }
  constexpr std::string_view kLibrary = "lib/python3";
  const size_t at = path.rfind(kLibrary);  // also in a path that was cut: "…lib/python3.13/keyword.py"
  if (at != std::string_view::npos && (path.substr(0, at).ends_with('/') || path.substr(0, at) == "…")) {
    const size_t slash = path.find('/', at + kLibrary.size());
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
  }
  return path;
}

std::string LabelOf(const Function& function) {
  const std::string_view name = function.name.empty() ? std::string_view("<unnamed>") : function.name;
  if (function.file.empty()) {
    return std::string(name);
  }
  const std::string_view file = ShortPath(function.file);
  return function.line > 0 ? fmt::format("{} ({}:{})", name, file, function.line) : fmt::format("{} ({})", name, file);
}

}  // namespace ptrace_prof
