// Numbers the call tree of a page: one node per distinct chain of (function, line), callers before callees.
//
// Columns are ignored, so a page has fewer nodes than the trace has stacks. Node 0 is the empty stack.
#pragma once

#include <unordered_map>
#include <vector>

#include "daemon/export/function_table.h"

namespace ptrace_prof {

class PageTree {
 public:
  struct Node {
    uint32_t parent = 0;
    uint32_t function = 0;
    int32_t line = 0;
  };

  explicit PageTree(const StackTable& stacks) : stacks_(stacks), functions_(stacks, false), nodes_(1) {}

  uint32_t NodeOf(StackId stack);
  const std::vector<Node>& nodes() const { return nodes_; }
  const FunctionTable& functions() const { return functions_; }

 private:
  uint32_t ChildOf(uint32_t parent, FrameId frame);

  const StackTable& stacks_;
  FunctionTable functions_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> children_;  // by parent and function; few lines each
  std::vector<uint32_t> node_of_stack_;                           // 0 = none yet
  std::vector<StackId> pending_;
};

}  // namespace ptrace_prof
