#include "daemon/trace/stack_table.h"

#include <vector>

#include "daemon/trace/id_index.h"

namespace ptrace_prof {
namespace {

uint64_t HashOf(const Frame& frame) {
  uint64_t hash = std::hash<std::string_view>{}(frame.function);
  hash = MixBits(hash ^ std::hash<std::string_view>{}(frame.file) * 3);
  hash = MixBits(hash ^ PackBits(static_cast<uint32_t>(frame.line), static_cast<uint32_t>(frame.end_line)));
  hash = MixBits(hash ^ PackBits(static_cast<uint32_t>(frame.column), static_cast<uint32_t>(frame.end_column)));
  return MixBits(hash ^ PackBits(static_cast<uint32_t>(frame.first_line), static_cast<uint32_t>(frame.kind)));
}

}  // namespace

struct StackTable::Impl {
  struct Node {
    StackId parent;
    FrameId frame;
    uint32_t depth = 0;
  };

  std::deque<Frame> frames;
  std::vector<Node> nodes{Node{}};  // [0] is kEmptyStack
  IdIndex frame_index;
  IdIndex node_index;
  uint32_t generation = 1;
};

StackTable::StackTable() : impl_(std::make_unique<Impl>()) {}
StackTable::~StackTable() = default;
StackTable::StackTable(StackTable&&) noexcept = default;
StackTable& StackTable::operator=(StackTable&&) noexcept = default;

FrameId StackTable::InternFrame(const Frame& frame) {
  Impl& t = *impl_;
  const auto fresh = static_cast<uint32_t>(t.frames.size());
  const uint32_t id =
      t.frame_index.FindOrInsert(HashOf(frame), fresh, [&](uint32_t other) { return t.frames[other] == frame; });
  if (id == fresh) {
    t.frames.push_back(frame);
  }
  return FrameId(id);
}

StackId StackTable::InternStack(StackId parent, FrameId frame) {
  Impl& t = *impl_;
  const auto fresh = static_cast<uint32_t>(t.nodes.size());
  const uint32_t id = t.node_index.FindOrInsert(
      MixBits(PackBits(parent.value, frame.value)), fresh,
      [&](uint32_t other) { return t.nodes[other].parent == parent && t.nodes[other].frame == frame; });
  if (id == fresh) {
    t.nodes.push_back({parent, frame, t.nodes[parent.value].depth + 1});
  }
  return StackId(id);
}

const Frame& StackTable::frame(FrameId id) const { return impl_->frames[id.value]; }
StackId StackTable::parent(StackId id) const { return impl_->nodes[id.value].parent; }
FrameId StackTable::leaf(StackId id) const { return impl_->nodes[id.value].frame; }
uint32_t StackTable::depth(StackId id) const { return impl_->nodes[id.value].depth; }
size_t StackTable::frame_count() const { return impl_->frames.size(); }
size_t StackTable::stack_count() const { return impl_->nodes.size() - 1; }
uint32_t StackTable::generation() const { return impl_->generation; }

void StackTable::Clear() {
  const uint32_t next = impl_->generation + 1;
  impl_ = std::make_unique<Impl>();
  impl_->generation = next;
}

}  // namespace ptrace_prof
