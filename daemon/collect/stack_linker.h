// Turns the frame chains of one process into stacks of the trace, and says whether they can be believed.
//
// A chain is a path of nodes (parent node, code, instruction); a node exists only if the link to it is in the LinkSet,
// so that in the steady state a sample costs one comparison per unchanged frame and one lookup per changed one. New
// frames get their names and lines here, once. ClearStacks() when the StackTable is cleared. One owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "attach/base/flat_map.h"
#include "attach/base/types.h"
#include "daemon/collect/link_set.h"
#include "daemon/collect/shared_links.h"
#include "daemon/trace/stack_table.h"
#include "symbolizer/cpython/code_cache.h"
#include "symbolizer/cpython/frame_walker.h"

namespace ptrace_prof {

using NodeId = StrongId<struct NodeIdTag, uint32_t>;
inline constexpr NodeId kRootNode{0};

// What a thread's last chain was linked to: unchanged callers keep their nodes.
struct LinkedChain {
  std::vector<RawFrame> frames;  // outermost first
  std::vector<NodeId> nodes;     // nodes[i] is the path frames[0..i]
  bool cut_root = false;         // the callers of frames[0] were left out: deeper than the limit

  void Clear() {
    frames.clear();
    nodes.clear();
  }

  NodeId leaf() const { return nodes.empty() ? kRootNode : nodes.back(); }
};

enum class LinkEnd : uint8_t {
  kLinked,       // every link is known
  kUnknownLink,  // the link into frames[depth] (outermost first) is not known yet
  kUnknownCode,  // what stands in frames[depth] was not read yet: ReadCodes
  kBadFrame,     // what stands in frames[depth] is not a code object, or not an instruction of it
};

struct LinkResult {
  LinkEnd end = LinkEnd::kLinked;
  size_t depth = 0;  // frames linked before the end
};

class StackLinker {
 public:
  // `shared`: null, or what other processes know and shall know.
  StackLinker(CodeCache& codes, StackTable& stacks, bool with_columns, SharedLinks* shared = nullptr);

  // `frames` is leaf first. `chain` is updated to what could be linked. Asks the target for nothing. `cut_root`: the
  // frames end at the depth limit, their outermost one is taken as it is and stands below a "[truncated]" root.
  LinkResult Follow(const std::vector<RawFrame>& frames, bool cut_root, LinkedChain* chain);
  // Reads the code objects that are not known yet.
  void ReadCodes(const std::vector<RawFrame>& frames);
  // Where in the code a frame is, for links: see CodeCache::Locate.
  uint64_t SiteOf(CodeId code, const RawFrame& frame) const;
  // After a Follow that ended before a frame that is code: the link that was missing.
  std::optional<Link> UnknownLink(const std::vector<RawFrame>& frames, const LinkedChain& chain) const;
  // The same chain, but that the callee in doubt was called from where it is known to be called from: from another
  // place of the same caller, or (`any_caller`) from the only function that it can have been. False: that is not known,
  // or one of the two is in the chain more than once.
  bool MoveDoubt(const Link& doubted, bool any_caller, const LinkedChain& chain, std::vector<RawFrame>* frames) const;
  // The leaf is believed, and from it upwards each caller that is not known to make the call gives way to the only one
  // that does. False: for one of them there is none or more than one, or it would be a recursion.
  bool MendFromLeaf(std::vector<RawFrame>* frames) const;
  const LinkSet& links() const { return links_; }
  // The outermost frame may have a caller that cannot be seen: it is of a generator or coroutine, which has none while
  // it is suspended, or has not run an instruction yet, so that its caller may not have been written down yet.
  bool MayLackCaller(const std::vector<RawFrame>& frames);
  // The chain is known to be exact: enters its links into the set. Stops at a frame that is not code.
  void Learn(const std::vector<RawFrame>& frames, bool cut_root);
  void Learn(const Link& link);
  // The stack with a marker such as "[truncated]" or "<GC>" as its leaf.
  StackId WithMarker(StackId stack, std::string_view marker);

  StackId stack(NodeId node) const { return nodes_[node.value].stack; }
  NodeId parent(NodeId node) const { return nodes_[node.value].parent; }
  CodeId code(NodeId node) const { return nodes_[node.value].code; }
  size_t node_count() const { return nodes_.size() - 1; }
  void ClearStacks();  // the StackTable was cleared; links stay known

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

  bool IsKnown(const Link& link);
  SharedLinks::Key SharedKey(const Link& link) const;
  NodeId AddNode(NodeId parent, CodeId code, uint64_t instruction);
  NodeId CutRoot();
  FrameId FrameOf(CodeId code, uint64_t instruction);

  CodeCache& codes_;
  StackTable& stacks_;
  const bool with_columns_;
  SharedLinks* const shared_;
  LinkSet links_;
  FlatMap<NodeKey, NodeId, NodeHash> by_key_;
  FlatMap<FrameKey, FrameId, FrameHash> frames_;
  std::vector<Node> nodes_;  // [0] is kRootNode
};

}  // namespace ptrace_prof
