#include "symbolizer/cpython/frame_values.h"

#include <algorithm>
#include <utility>

#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxLocals = 256;
constexpr size_t kMaxKinds = 64 << 10;

// CPython: Include/cpython/code.h (CO_VARARGS, CO_VARKEYWORDS), internal/pycore_code.h (CO_FAST_CELL, CO_FAST_FREE).
constexpr uint32_t kHasRest = 0x4;
constexpr uint32_t kHasMoreByName = 0x8;
constexpr uint8_t kAnyCell = 0x40 | 0x80;

// The place of one variable in the frame.
struct Slot {
  RemoteAddr name;
  bool is_argument = false;
  // Shared with an inner or outer function: once the cell is made, it holds the value.
  bool may_be_cell = false;
};

class FrameSlots {
 public:
  FrameSlots(RemoteMemory& memory, const Layout& layout, const RawFrame& frame)
      : memory_(memory), layout_(layout), reader_(memory, layout), frame_(frame) {}

  std::vector<FrameValue> Read() {
    std::vector<FrameValue> found;
    AddSlots();
    std::vector<uint64_t> values(slots_.size());
    if (memory_.Read(RemoteAddr(frame_.address) + layout_.frame_locals, values.data(), values.size() * 8) !=
        ReadStatus::kOk) {
      return found;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const RemoteAddr value = Value(slots_[i], RemoteAddr(values[i] & ~layout_.frame_tag_mask));
      if (!value.IsNull()) {  // null: not assigned
        found.push_back({slots_[i].name, value, slots_[i].is_argument});
      }
    }
    return found;
  }

 private:
  template <typename T>
  T OfCode(uint32_t field) {
    T value{};
    static_cast<void>(memory_.ReadValue(RemoteAddr(frame_.code) + field, &value));
    return value;
  }

  // Arguments come before all other variables: positional, keyword-only, *args, **kwargs.
  size_t CountArguments() {
    const auto flags = OfCode<uint32_t>(layout_.code_flags);
    const int64_t named =
        int64_t{OfCode<int32_t>(layout_.code_arg_count)} + OfCode<int32_t>(layout_.code_kwonly_arg_count);
    return static_cast<size_t>(std::clamp<int64_t>(named, 0, kMaxLocals)) + ((flags & kHasRest) != 0 ? 1 : 0) +
           ((flags & kHasMoreByName) != 0 ? 1 : 0);
  }

  void AddSlots() {
    AddNames(layout_.code_local_names, false);
    const size_t arguments = std::min(CountArguments(), slots_.size());
    for (size_t i = 0; i < arguments; ++i) {
      slots_[i].is_argument = true;
    }
    if (layout_.Has(&Layout::code_local_kinds)) {
      const auto kinds = reader_.ReadBytes(OfCode<RemoteAddr>(layout_.code_local_kinds), kMaxKinds);
      for (size_t i = 0; kinds.has_value() && i < std::min(slots_.size(), kinds->size()); ++i) {
        slots_[i].may_be_cell = ((*kinds)[i] & kAnyCell) != 0;
      }
      return;
    }
    if (slots_.size() == kMaxLocals) {
      return;  // the places of the cells are not known
    }
    AddNames(layout_.code_cell_names, true);
    AddNames(layout_.code_free_names, true);
    for (size_t i = arguments; i < slots_.size(); ++i) {  // an argument that lives in a cell has an empty first place
      const auto* end = slots_.data() + arguments;
      slots_[i].is_argument = std::find_if(std::as_const(slots_).data(), end, [&](const Slot& argument) {
                                return argument.name == slots_[i].name;
                              }) != end;
    }
  }

  void AddNames(uint32_t field, bool are_cells) {
    const auto names = reader_.ReadTuple(OfCode<RemoteAddr>(field), kMaxLocals);
    for (size_t i = 0; names.has_value() && i < names->size(); ++i) {
      slots_.push_back({.name = (*names)[i], .may_be_cell = are_cells});
    }
  }

  RemoteAddr Value(const Slot& slot, RemoteAddr object) {
    if (object.IsNull() || !slot.may_be_cell || reader_.ReadTypeName(object) != "cell") {
      return object;
    }
    RemoteAddr inside;
    static_cast<void>(memory_.ReadValue(object + layout_.object_type + sizeof(uint64_t), &inside));  // ob_ref
    return inside;
  }

  RemoteMemory& memory_;
  const Layout& layout_;
  ObjectReader reader_;
  const RawFrame& frame_;
  std::vector<Slot> slots_;
};

}  // namespace

std::vector<FrameValue> ReadFrameValues(RemoteMemory& memory, const Layout& layout, const RawFrame& frame) {
  if (!layout.Has(&Layout::code_local_names) || !layout.Has(&Layout::frame_locals)) {
    return {};
  }
  return FrameSlots(memory, layout, frame).Read();
}

}  // namespace ptrace_prof
