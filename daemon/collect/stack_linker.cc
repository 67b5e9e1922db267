#include "daemon/collect/stack_linker.h"

#include <algorithm>

namespace ptrace_prof {

StackLinker::StackLinker(CodeCache& codes, StackTable& stacks, bool with_columns, SharedLinks* shared)
    : codes_(codes), stacks_(stacks), with_columns_(with_columns), shared_(shared), nodes_(1) {}

void StackLinker::ClearStacks() {
  by_key_.Clear();
  frames_.Clear();
  nodes_.assign(1, Node{});
}

void StackLinker::ReadCodes(const std::vector<RawFrame>& frames) {
  for (const RawFrame& frame : frames) {
    if (IsPlausibleAddress(frame.code) && codes_.Find(frame.code) == kNoCode) {
      codes_.Read(frame.code);
    }
  }
}

SharedLinks::Key StackLinker::SharedKey(const Link& link) const {
  return {codes_.info(link.caller).identity, codes_.info(link.callee).identity, link.instruction};
}

bool StackLinker::IsKnown(const Link& link) {
  if (links_.Contains(link)) {
    return true;
  }
  if (shared_ == nullptr || !shared_->Contains(SharedKey(link))) {
    return false;
  }
  links_.Add(link);
  return true;
}

uint64_t StackLinker::SiteOf(CodeId code, const RawFrame& frame) const {
  return codes_.Locate(code, frame.instruction).value_or(frame.instruction);
}

void StackLinker::Learn(const Link& link) {
  links_.Add(link);
  if (shared_ != nullptr) {
    shared_->Add(SharedKey(link));
  }
}

FrameId StackLinker::FrameOf(CodeId code, uint64_t instruction) {
  const FrameKey key{instruction, code};
  if (const FrameId* known = frames_.Find(key)) {
    return *known;
  }
  const CodeInfo& info = codes_.info(code);
  const SourcePosition position = codes_.Position(code, instruction);
  Frame frame{.function = info.function, .file = info.file, .line = position.line, .first_line = info.first_line};
  if (with_columns_) {
    frame.end_line = position.end_line;
    frame.column = position.column;
    frame.end_column = position.end_column;
  }
  return *frames_.Insert(key, stacks_.InternFrame(frame));
}

NodeId StackLinker::AddNode(NodeId parent, CodeId code, uint64_t instruction) {
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  const StackId stack = stacks_.InternStack(nodes_[parent.value].stack, FrameOf(code, instruction));
  nodes_.push_back({parent, code, stack});
  by_key_.Insert({parent.value, code.value, instruction}, id);
  return id;
}

StackId StackLinker::WithMarker(StackId stack, std::string_view marker) {
  return stacks_.InternStack(stack, stacks_.InternFrame({.function = std::string(marker), .kind = FrameKind::kMarker}));
}

// The node that stands for all callers beyond the depth limit. No real node has a parent without code but the root.
NodeId StackLinker::CutRoot() {
  const NodeKey key{kRootNode.value, kNoCode.value, 1};
  if (const NodeId* known = by_key_.Find(key)) {
    return *known;
  }
  const NodeId id(static_cast<uint32_t>(nodes_.size()));
  nodes_.push_back({kRootNode, kNoCode, WithMarker(kEmptyStack, kTruncatedMarker)});
  return *by_key_.Insert(key, id);
}

LinkResult StackLinker::Follow(const std::vector<RawFrame>& frames, bool cut_root, LinkedChain* chain) {
  if (chain->cut_root != cut_root) {
    chain->Clear();
    chain->cut_root = cut_root;
  }
  const size_t count = frames.size();
  size_t same = 0;
  while (same < count && same < chain->nodes.size() && chain->frames[same] == frames[count - 1 - same]) {
    ++same;
  }
  chain->frames.resize(same);
  chain->nodes.resize(same);
  CodeId caller = same == 0 ? kNoCode : code(chain->leaf());
  uint64_t call = same == 0 ? 0 : SiteOf(caller, chain->frames.back());
  for (size_t depth = same; depth < count; ++depth) {
    const RawFrame& frame = frames[count - 1 - depth];
    const CodeId callee = codes_.Find(frame.code);
    const auto at = callee == kNoCode ? std::nullopt : codes_.Locate(callee, frame.instruction);
    if (!at.has_value()) {
      const bool is_new = callee == kNoCode && IsPlausibleAddress(frame.code);
      return {is_new ? LinkEnd::kUnknownCode : LinkEnd::kBadFrame, depth};
    }
    const NodeId parent = depth == 0 && cut_root ? CutRoot() : chain->leaf();
    NodeId node;
    if (const NodeId* known = by_key_.Find({parent.value, callee.value, *at})) {
      node = *known;
    } else if ((depth == 0 && cut_root) || IsKnown({caller, callee, call})) {
      node = AddNode(parent, callee, *at);
    } else {
      return {LinkEnd::kUnknownLink, depth};
    }
    chain->frames.push_back(frame);
    chain->nodes.push_back(node);
    caller = callee;
    call = *at;
  }
  return {LinkEnd::kLinked, count};
}

std::optional<Link> StackLinker::UnknownLink(const std::vector<RawFrame>& frames, const LinkedChain& chain) const {
  const size_t depth = chain.frames.size();
  const CodeId callee = depth < frames.size() ? codes_.Find(frames[frames.size() - 1 - depth].code) : kNoCode;
  if (callee == kNoCode) {
    return std::nullopt;
  }
  if (depth == 0) {
    return Link{kNoCode, callee, 0};
  }
  const CodeId caller = code(chain.leaf());
  return Link{caller, callee, SiteOf(caller, chain.frames.back())};
}

bool StackLinker::MoveDoubt(const Link& doubted, bool any_caller, const LinkedChain& chain,
                            std::vector<RawFrame>* frames) const {
  const size_t depth = chain.frames.size();  // of the callee
  if (depth == 0 || depth >= frames->size()) {
    return false;
  }
  RawFrame& caller = (*frames)[frames->size() - depth];
  const uint64_t callee = (*frames)[frames->size() - 1 - depth].code;
  const auto is_either = [&](const RawFrame& frame) { return frame.code == caller.code || frame.code == callee; };
  if (std::ranges::count_if(*frames, is_either) != 2) {
    return false;  // of a recursion two moments may be mixed, and only their number of frames would tell
  }
  if (const std::optional<uint64_t> site = links_.OnlySite(doubted.caller, doubted.callee)) {
    caller.instruction = *site;
    return true;
  }
  if (!any_caller || depth < 2) {
    return false;
  }
  const std::optional<Link> link = links_.OnlyCallerBelow(code(chain.nodes[depth - 2]), doubted.callee);
  if (!link.has_value()) {
    return false;
  }
  caller.code = codes_.info(link->caller).address.value;
  caller.instruction = link->instruction;
  return true;
}

bool StackLinker::MendFromLeaf(std::vector<RawFrame>* frames) const {
  const auto count = [&](uint64_t code) { return std::ranges::count(*frames, code, &RawFrame::code); };
  for (size_t i = 0; i + 1 < frames->size(); ++i) {
    const CodeId callee = codes_.Find((*frames)[i].code);
    RawFrame& caller = (*frames)[i + 1];
    const CodeId code = codes_.Find(caller.code);
    if (callee == kNoCode || code == kNoCode) {
      return false;
    }
    if (links_.Contains({code, callee, SiteOf(code, caller)})) {
      continue;
    }
    if (count((*frames)[i].code) != 1) {
      return false;  // see MoveDoubt
    }
    if (const std::optional<uint64_t> site = links_.OnlySite(code, callee)) {
      caller.instruction = *site;
      continue;
    }
    const std::optional<Link> only = links_.OnlyCaller(callee);
    if (!only.has_value()) {
      return false;
    }
    caller.code = codes_.info(only->caller).address.value;
    caller.instruction = only->instruction;
    if (count(caller.code) != 1) {
      return false;
    }
  }
  return true;
}

bool StackLinker::MayLackCaller(const std::vector<RawFrame>& frames) {
  ReadCodes(frames);
  const CodeId root = frames.empty() ? kNoCode : codes_.Find(frames.back().code);
  return root != kNoCode && (codes_.info(root).may_suspend || codes_.IsAtEntry(root, frames.back().instruction));
}

void StackLinker::Learn(const std::vector<RawFrame>& frames, bool cut_root) {
  ReadCodes(frames);
  CodeId caller = kNoCode;
  uint64_t call = 0;
  for (size_t depth = 0; depth < frames.size(); ++depth) {
    const RawFrame& frame = frames[frames.size() - 1 - depth];
    const CodeId callee = codes_.Find(frame.code);
    const auto at = callee == kNoCode ? std::nullopt : codes_.Locate(callee, frame.instruction);
    if (!at.has_value()) {
      return;
    }
    if (depth > 0 || !cut_root) {
      Learn(Link{caller, callee, call});
    }
    caller = callee;
    call = *at;
  }
}

}  // namespace ptrace_prof
