#include "daemon/collector/sample/locals_reader.h"

#include <algorithm>
#include <vector>

#include "symbolizer/cpython/frame_values.h"
#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxFrames = 64;
constexpr size_t kMaxValueChars = 120;
constexpr size_t kMaxNameBytes = 256;

}  // namespace

void WriteLocals(ProcessSampler& sampler, TraceWriter& writer) {
  const Layout& layout = sampler.process().python.layout;
  ObjectReader reader(sampler.memory(), layout);
  for (const auto& track : sampler.roster().tracks()) {
    const auto& frames = track->stack.frames();
    for (size_t depth = 0; depth < std::min(frames.size(), kMaxFrames); ++depth) {
      std::vector<LocalVariable> locals;
      for (const FrameValue& found : ReadFrameValues(sampler.memory(), layout, frames[depth])) {
        locals.push_back({.name = reader.ReadString(found.name, kMaxNameBytes).value_or("?"),
                          .value = reader.Repr(found.value, kMaxValueChars),
                          .is_argument = found.is_argument});
      }
      if (!locals.empty()) {
        writer.AddLocals(track->handle, static_cast<uint32_t>(depth), locals);
      }
    }
  }
}

}  // namespace ptrace_prof
