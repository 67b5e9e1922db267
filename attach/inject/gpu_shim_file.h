// The bytes of the GPU shim with what it is told filled in. As stub_file.h; copied into a memfd of the target.
//
// Immutable but for Fill().
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/abi/gpu_boot.h"
#include "attach/base/result.h"
#include "attach/inject/stub_kind.h"

namespace ptrace_prof {

class GpuShimFile {
 public:
  // The one that our program carries (gpu_shim_image.h).
  static Result<GpuShimFile> Carried();
  // kInvalidArgument: this is no shim.
  static Result<GpuShimFile> Parse(std::span<const uint8_t> bytes);

  // Everything but what the shim writes itself is taken from `boot`; the arena gets the name that belongs to the nonce.
  void Fill(const pp_gpu_boot& boot);

  const pp_gpu_boot& boot() const { return boot_; }
  StubPackage package() const { return {&kGpuShim, boot_.nonce, bytes_}; }

 private:
  std::vector<uint8_t> bytes_;
  size_t boot_at_ = 0;
  pp_gpu_boot boot_{};
};

}  // namespace ptrace_prof
