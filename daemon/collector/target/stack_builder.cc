#include "daemon/collector/target/stack_builder.h"

#include <string>

namespace ptrace_prof {
namespace {

// Pseudo-instructions of nodes without code. Under one parent they must differ.
constexpr uint64_t kCutPlace = 1;
constexpr uint64_t kGonePlace = 2;

}  // namespace

StackBuilder::StackBuilder(CodeCache& codes, StackTable& stacks, bool with_columns)
    : codes_(codes), stacks_(stacks), with_columns_(with_columns), nodes_(1) {}

void StackBuilder::ClearStacks() {
  by_key_.Clear();
  frames_.Clear();
  nodes_.assign(1, Node{});
}

FrameId StackBuilder::Marker(std::string_view text) {
  return stacks_.InternFrame({.function = std::string(text), .kind = FrameKind::kMarker});
}

FrameId StackBuilder::FrameOf(CodeId code, uint64_t place) {
  const FrameKey key{place, code};
  if (const FrameId* known = frames_.Find(key)) {
    return *known;
  }
  const CodeInfo& info = codes_.info(code);
  const SourcePosition position = codes_.Position(code, place);
  Frame frame{.function = info.function, .file = info.file, .line = position.line, .first_line = info.first_line};
  if (with_columns_) {
    frame.end_line = position.end_line;
    frame.column = position.column;
    frame.end_column = position.end_column;
  }
  return *frames_.Insert(key, stacks_.InternFrame(frame));
}

NodeId StackBuilder::AddNode(NodeId parent, CodeId code, FrameId frame, const NodeKey& key) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back({parent, code, frame, stacks_.InternStack(nodes_[parent.value].stack, frame)});
  return *by_key_.Insert(key, id);
}

NodeId StackBuilder::NodeOf(NodeId parent, CodeId code, uint64_t place) {
  const NodeKey key{parent.value, code.value, place};
  if (const NodeId* known = by_key_.Find(key)) {
    return *known;
  }
  return AddNode(parent, code, code == kNoCode ? Marker(kGoneMarker) : FrameOf(code, place), key);
}

StackId StackBuilder::WithMarker(StackId stack, std::string_view marker) {
  return stacks_.InternStack(stack, Marker(marker));
}

// The node for all callers beyond the depth limit.
NodeId StackBuilder::CutRoot() {
  const NodeKey key{kRootNode.value, kNoCode.value, kCutPlace};
  if (const NodeId* known = by_key_.Find(key)) {
    return *known;
  }
  return AddNode(kRootNode, kNoCode, Marker(kTruncatedMarker), key);
}

NodeId StackBuilder::Build(const std::vector<RawFrame>& frames, const std::vector<CodeId>& names, bool cut_root,
                           BuiltChain* chain, NodeId root) {
  if (chain->cut_root != cut_root || chain->root != root) {
    chain->Clear();
    chain->cut_root = cut_root;
    chain->root = root;
  }
  const size_t count = frames.size();
  size_t same = 0;
  while (same < count && same < chain->nodes.size() && chain->frames[same] == frames[count - 1 - same] &&
         IsOf(chain->nodes[same], names[count - 1 - same])) {
    ++same;
  }
  chain->frames.resize(same);
  chain->nodes.resize(same);
  for (size_t depth = same; depth < count; ++depth) {
    const size_t from_leaf = count - 1 - depth;
    const RawFrame& frame = frames[from_leaf];
    CodeId code = names[from_leaf];
    const auto place = code == kNoCode ? std::nullopt : codes_.Locate(code, frame.instruction);
    code = place.has_value() ? code : kNoCode;
    const NodeId parent = depth == 0 && cut_root ? CutRoot() : chain->leaf();
    const bool is_hidden = code != kNoCode && codes_.info(code).is_internal;  // its time counts for its caller
    chain->nodes.push_back(is_hidden ? parent : NodeOf(parent, code, place.value_or(kGonePlace)));
    chain->frames.push_back(frame);
  }
  return chain->leaf();
}

}  // namespace ptrace_prof
