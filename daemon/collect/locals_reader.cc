#include "daemon/collect/locals_reader.h"

#include <algorithm>
#include <vector>

#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxFrames = 64;
constexpr size_t kMaxLocals = 256;
constexpr size_t kMaxValueChars = 120;

std::vector<LocalVariable> ReadLocals(RemoteMemory& memory, const Layout& layout, const RawFrame& frame) {
  std::vector<LocalVariable> locals;
  ObjectReader reader(memory, layout);
  const RemoteAddr code(frame.code);
  uint64_t names_tuple = 0;
  int32_t arguments = 0;
  if (memory.ReadValue(code + layout.code_local_names, &names_tuple) != ReadStatus::kOk) {
    return locals;
  }
  const auto names = reader.ReadTuple(RemoteAddr(names_tuple), kMaxLocals);
  if (!names.has_value() || names->empty()) {
    return locals;
  }
  (void)memory.ReadValue(code + layout.code_arg_count, &arguments);
  std::vector<uint64_t> values(names->size());
  if (memory.Read(RemoteAddr(frame.address) + layout.frame_locals, values.data(), values.size() * 8) !=
      ReadStatus::kOk) {
    return locals;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t value = values[i] & ~layout.frame_tag_mask;
    if (value == 0) {
      continue;  // not assigned
    }
    LocalVariable local;
    local.name = reader.ReadString((*names)[i], 256).value_or("?");
    local.value = reader.Repr(RemoteAddr(value), kMaxValueChars);
    local.is_argument = static_cast<int64_t>(i) < arguments;
    locals.push_back(std::move(local));
  }
  return locals;
}

}  // namespace

void WriteLocals(ProcessSampler& sampler, TraceWriter& writer) {
  const Layout& layout = sampler.python().layout;
  if (!layout.Has(&Layout::code_local_names) || !layout.Has(&Layout::frame_locals)) {
    return;
  }
  for (const auto& track : sampler.roster().tracks()) {
    const auto& frames = track->stack.frames();
    for (size_t depth = 0; depth < std::min(frames.size(), kMaxFrames); ++depth) {
      const auto locals = ReadLocals(sampler.memory(), layout, frames[depth]);
      if (!locals.empty()) {
        writer.AddLocals(track->handle, static_cast<uint32_t>(depth), locals);
      }
    }
  }
}

}  // namespace ptrace_prof
