#include "attach/inject/gpu_shim_file.h"

#include <algorithm>
#include <cstring>

#include "attach/inject/gpu_shim_image.h"

namespace ptrace_prof {
namespace {

template <typename T>
std::span<uint8_t> BytesOf(T& value) {
  return {reinterpret_cast<uint8_t*>(&value), sizeof value};
}

}  // namespace

constinit const StubKind kGpuShim{{PP_GPU_BOOT_MAGIC_0, PP_GPU_BOOT_MAGIC_1},
                                  PP_GPU_ABI_VERSION,
                                  sizeof(pp_gpu_boot),
                                  "ptrace-prof-gpu.",
                                  "ptrace-prof-arena.",
                                  "_ptrace_prof_gpu"};

Result<GpuShimFile> GpuShimFile::Parse(std::span<const uint8_t> bytes) {
  GpuShimFile image;
  PP_ASSIGN_OR_RETURN(image.boot_at_, FindBootBlock(kGpuShim, bytes));
  image.bytes_.assign(bytes.begin(), bytes.end());
  std::memcpy(&image.boot_, bytes.data() + image.boot_at_, sizeof image.boot_);
  return image;
}

Result<GpuShimFile> GpuShimFile::Carried() {
  const std::span<const std::byte> image = GpuShimImage();
  return Parse({reinterpret_cast<const uint8_t*>(image.data()), image.size()});
}

void GpuShimFile::Fill(const pp_gpu_boot& boot) {
  pp_gpu_boot told = boot;
  const std::string name = StubMemoryName(kGpuShim, boot.nonce);
  std::memset(told.arena_name, 0, sizeof told.arena_name);
  std::memcpy(told.arena_name, name.data(), std::min(name.size(), sizeof told.arena_name - 1));
  TellBootBlock(kGpuShim, BytesOf(told), BytesOf(boot_));
  std::memcpy(bytes_.data() + boot_at_, &boot_, sizeof boot_);
}

}  // namespace ptrace_prof
