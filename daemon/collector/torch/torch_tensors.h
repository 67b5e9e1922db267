// Reads tensors from outside: a Python object leads to a c10::TensorImpl, which has the sizes and the storage.
//
// Which layout the target's PyTorch has is learnt from some of its tensors: in the right one, the number of elements is
// the product of the sizes. Reads without a stop; everything is untrusted. One owner, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attach/abi/torch_row.h"
#include "attach/proc/remote_memory.h"
#include "daemon/trace/allocation.h"
#include "symbolizer/cpython/layout.h"

namespace ptrace_prof {

struct TensorView {
  RemoteAddr implementation;
  std::vector<int64_t> sizes;
  uint16_t type = 0;  // c10::ScalarType
  TorchDevice device;
  uint64_t address = 0;  // of its storage; 0: it has none, or an empty one
  int64_t bytes = 0;

  bool operator==(const TensorView&) const = default;
};

class TensorReader {
 public:
  TensorReader(RemoteMemory& memory, const Layout& layout, bool has_old_strings)
      : memory_(memory), layout_(layout), has_old_strings_(has_old_strings) {}

  // Returns whether a layout fits nearly all of these objects.
  bool Learn(std::span<const RemoteAddr> objects);
  // The tensor of a Python object, by the layout learnt.
  std::optional<TensorView> Read(RemoteAddr object);
  // tensor.grad, if it has one with the same sizes.
  std::optional<TensorView> ReadGradient(const TensorView& tensor);

 private:
  RemoteAddr ImplementationOf(RemoteAddr object);
  std::optional<TensorView> ReadAs(RemoteAddr implementation, const pp_torch_tensor& row);

  RemoteMemory& memory_;
  const Layout& layout_;
  const bool has_old_strings_;
  const pp_torch_tensor* row_ = nullptr;
};

// "float32", as torch.dtype prints it.
std::string TensorTypeName(uint16_t type);

}  // namespace ptrace_prof
