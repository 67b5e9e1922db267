// Numbers the functions (or function lines) of frames, in the order of their first use.
//
// Frames of one function at different lines are one entry unless `by_line`. Names are cleaned on entry, so that an
// exporter escapes only for its own format. Grows with the table of frames.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

struct Function {
  std::string name;
  std::string file;
  int32_t line = 0;  // where it is defined; with `by_line`, the executed line; 0 = unknown
  FrameKind kind = FrameKind::kPython;
};

class FunctionTable {
 public:
  FunctionTable(const StackTable& stacks, bool by_line) : stacks_(stacks), by_line_(by_line) {}

  uint32_t IdOf(FrameId frame);
  const Function& function(uint32_t id) const { return functions_[id]; }
  size_t size() const { return functions_.size(); }
  // Ids of the functions of a stack, root first. Overwrites `path`.
  void PathOf(StackId stack, std::vector<uint32_t>& path);

 private:
  const StackTable& stacks_;
  const bool by_line_;
  std::vector<uint32_t> id_of_frame_;  // id + 1; 0 = none yet
  std::unordered_map<std::string, uint32_t> id_of_key_;
  std::vector<Function> functions_;
};

// The distinctive part of a path: below site-packages, dist-packages or lib/pythonX.Y, else all of it.
std::string_view ShortPath(std::string_view path);
// "train (train.py:12)"; for markers and unknown files only the name.
std::string LabelOf(const Function& function);

}  // namespace ptrace_prof
