#include "daemon/export/page_tree.h"

#include <algorithm>

namespace ptrace_prof {

uint32_t PageTree::ChildOf(uint32_t parent, FrameId frame) {
  const uint32_t function = functions_.IdOf(frame);
  const int32_t line = std::max(stacks_.frame(frame).line, 0);
  std::vector<uint32_t>& siblings = children_[static_cast<uint64_t>(parent) << 32 | function];
  for (const uint32_t node : siblings) {
    if (nodes_[node].line == line) {
      return node;
    }
  }
  siblings.push_back(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back({parent, function, line});
  return siblings.back();
}

uint32_t PageTree::NodeOf(StackId stack) {
  node_of_stack_.resize(std::max<size_t>(node_of_stack_.size(), stacks_.stack_count() + 1));
  pending_.clear();
  for (; stack != kEmptyStack && node_of_stack_[stack.value] == 0; stack = stacks_.parent(stack)) {
    pending_.push_back(stack);
  }
  uint32_t node = stack == kEmptyStack ? 0 : node_of_stack_[stack.value];
  for (; !pending_.empty(); pending_.pop_back()) {
    node = ChildOf(node, stacks_.leaf(pending_.back()));
    node_of_stack_[pending_.back().value] = node;
  }
  return node;
}

}  // namespace ptrace_prof
