// Any bytes at _PyRuntime: ImportDebugOffsets refuses, or gives a layout that readers can use.
#include <cstdlib>
#include <span>

#include "symbolizer/cpython/debug_offsets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ptrace_prof;
  const auto layout = ImportDebugOffsets(std::as_bytes(std::span(data, size)));
  if (layout.has_value() && ValidateLayout(layout.value()).has_error()) {
    std::abort();
  }
  return 0;
}
