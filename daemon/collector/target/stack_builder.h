// Turns the frame chains of one process into stacks of the trace.
//
// A chain is a path of nodes (parent node, code, instruction). So in the steady state a sample costs one comparison per
// unchanged frame and one lookup per changed one. New frames get their names and lines here, once. Code without a known
// name becomes the frame `[code that is gone]` between its callers and its callees. Reads nothing from the target: see
// FrameCodes. Call ClearStacks() when the StackTable is cleared. One per process; one thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attach/base/flat_map.h"
#include "attach/base/types.h"
#include "daemon/trace/stack_table.h"
#include "symbolizer/cpython/code_cache.h"
#include "symbolizer/cpython/frame_walker.h"

namespace ptrace_prof {

using NodeId = StrongId<struct NodeIdTag, uint32_t>;
inline constexpr NodeId kRootNode{0};

// The frames and nodes of a thread's last chain. Unchanged callers keep their nodes.
struct BuiltChain {
  std::vector<RawFrame> frames;  // outermost first
  std::vector<NodeId> nodes;     // nodes[i] is the path frames[0..i]
  NodeId root = kRootNode;       // parent of the chain: a stack of another state of the same thread
  bool cut_root = false;         // the callers of frames[0] were left out, deeper than the limit

  void Clear() {
    frames.clear();
    nodes.clear();
  }

  NodeId leaf() const { return nodes.empty() ? root : nodes.back(); }
};

class StackBuilder {
 public:
  StackBuilder(CodeCache& codes, StackTable& stacks, bool with_columns);

  // `frames` is leaf first, `names` the code of each (kNoCode: it is gone). `cut_root`: the frames end at the depth
  // limit, and the outermost one is put below a "[truncated]" root; otherwise below `root`. `chain` is updated to what
  // was built.
  NodeId Build(const std::vector<RawFrame>& frames, const std::vector<CodeId>& names, bool cut_root, BuiltChain* chain,
               NodeId root = kRootNode);
  // The same path, but without the names of code for which `is_gone` (CodeId) is true.
  template <typename IsGone>
  StackId WithoutNames(NodeId leaf, IsGone is_gone);
  // The stack with a marker such as "[truncated]" or "<GC>" as its leaf.
  StackId WithMarker(StackId stack, std::string_view marker);

  StackId stack(NodeId node) const { return nodes_[node.value].stack; }
  NodeId parent(NodeId node) const { return nodes_[node.value].parent; }
  CodeId code(NodeId node) const { return nodes_[node.value].code; }
  size_t node_count() const { return nodes_.size() - 1; }
  void ClearStacks();  // call when the StackTable was cleared

 private:
  struct NodeKey {
    uint32_t parent = 0;
    uint32_t code = 0;
    uint64_t instruction = 0;
    bool operator==(const NodeKey&) const = default;
  };
  struct NodeHash {
    uint64_t operator()(const NodeKey& key) const {
      return MixHash((uint64_t{key.parent} << 32) | key.code, key.instruction);
    }
  };
  struct Node {
    NodeId parent;
    CodeId code;
    FrameId frame;
    StackId stack;
  };
  struct FrameKey {
    uint64_t instruction = 0;
    CodeId code;
    bool operator==(const FrameKey&) const = default;
  };
  struct FrameHash {
    uint64_t operator()(const FrameKey& key) const { return MixHash(key.instruction, key.code.value); }
  };

  bool IsOf(NodeId node, CodeId name) const {
    return code(node) == name || (name != kNoCode && codes_.info(name).is_internal);
  }
  NodeId NodeOf(NodeId parent, CodeId code, uint64_t place);
  NodeId AddNode(NodeId parent, CodeId code, FrameId frame, const NodeKey& key);
  NodeId CutRoot();
  FrameId FrameOf(CodeId code, uint64_t place);
  FrameId Marker(std::string_view text);

  CodeCache& codes_;
  StackTable& stacks_;
  const bool with_columns_;
  FlatMap<NodeKey, NodeId, NodeHash> by_key_;
  FlatMap<FrameKey, FrameId, FrameHash> frames_;
  std::vector<Node> nodes_;  // [0] is kRootNode
};

template <typename IsGone>
StackId StackBuilder::WithoutNames(NodeId leaf, IsGone is_gone) {
  std::vector<NodeId> path;
  for (NodeId node = leaf; node != kRootNode; node = parent(node)) {
    path.push_back(node);
  }
  StackId stack = kEmptyStack;
  for (auto node = path.rbegin(); node != path.rend(); ++node) {
    const Node& known = nodes_[node->value];
    const bool gone = known.code != kNoCode && is_gone(known.code);
    stack = stacks_.InternStack(stack, gone ? Marker(kGoneMarker) : known.frame);
  }
  return stack;
}

}  // namespace ptrace_prof
