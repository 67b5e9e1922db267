// Converts FrameKind to its number in extension.proto.
#pragma once

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

constexpr trace::FrameExtra::Kind WireKindOf(FrameKind kind) {
  switch (kind) {
    case FrameKind::kPython: return trace::FrameExtra::KIND_PYTHON;
    case FrameKind::kMarker: return trace::FrameExtra::KIND_MARKER;
    case FrameKind::kC: return trace::FrameExtra::KIND_C;
    case FrameKind::kModule: return trace::FrameExtra::KIND_MODULE;
  }
  return trace::FrameExtra::KIND_PYTHON;
}

}  // namespace ptrace_prof
