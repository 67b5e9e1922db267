// Finds candidates for _PyRuntime in an image of a process, by an ordered table of strategies: the cheap and certain
// ones first.
//
// A strategy only proposes addresses; the caller checks each (runtime_check.h). Reads the target; stateless.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "attach/base/result.h"
#include "symbolizer/cpython/process_images.h"

namespace ptrace_prof {

// Returns true if the address was right and the search is over.
using RuntimeVisitor = std::function<bool(RemoteAddr runtime)>;

struct RuntimeStrategy {
  std::string_view name;
  ImageRank least_likely;  // images of a lower rank are skipped
  // True if the visitor returned true. kGone, kPermissionDenied.
  Result<bool> (*find)(RemoteMemory& memory, ProcessImages& images, size_t image, const RuntimeVisitor& visit);
};

std::span<const RuntimeStrategy> RuntimeStrategies();

}  // namespace ptrace_prof
