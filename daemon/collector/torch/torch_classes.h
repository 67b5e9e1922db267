// Tells tensors, modules and optimizers from other Python objects, by the classes that they inherit from.
//
// Reads the target's memory without a stop: everything is untrusted. One owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include "attach/proc/remote_memory.h"
#include "symbolizer/cpython/layout.h"
#include "symbolizer/cpython/object_reader.h"

namespace ptrace_prof {

enum class TorchKind : uint8_t {
  kOther,
  kTensor,
  kModule,
  kOptimizer,
  kDict,  // also a defaultdict, an OrderedDict
  kList,
  kTuple,
  kPlain,  // a number, a text, a function, a class, a Python module: nothing in it is of interest
};

class TorchClasses {
 public:
  // Nullopt: PyTorch's classes are not loaded (yet).
  static std::optional<TorchClasses> Find(RemoteMemory& memory, const Layout& layout, RemoteAddr interpreter);

  TorchKind KindOf(RemoteAddr object);

 private:
  TorchClasses(RemoteMemory& memory, const Layout& layout)
      : memory_(memory), layout_(layout), reader_(memory, layout) {}
  TorchKind KindOfType(RemoteAddr type);

  RemoteMemory& memory_;
  const Layout& layout_;
  ObjectReader reader_;
  std::unordered_map<RemoteAddr, TorchKind> bases_;  // PyTorch's
  std::unordered_map<RemoteAddr, TorchKind> types_;  // those met
};

}  // namespace ptrace_prof
