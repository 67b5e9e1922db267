#include "daemon/collector/inspect/gpu_libraries.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

std::vector<std::string> LibrariesAmong(std::initializer_list<const char*> paths) {
  std::vector<MemoryRegion> regions;
  for (const char* path : paths) {
    regions.emplace_back().path = path;
  }
  return GpuLibraries(regions);
}

TEST(GpuLibraries, NamesEachOnce) {
  EXPECT_EQ(
      LibrariesAmong({"/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15",
                      "/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", "/venv/nvidia/cuda_runtime/lib/libcudart.so.12",
                      "/venv/torch/lib/libtorch_cuda.so", "/venv/nvidia/nccl/lib/libnccl.so.2"}),
      (std::vector<std::string>{"libcuda", "libcudart", "libnccl", "libtorch_cuda"}));
  EXPECT_EQ(LibrariesAmong({"/venv/torch/lib/libcudart-9335f6a2.so.12"}), std::vector<std::string>{"libcudart"});
  EXPECT_EQ(LibrariesAmong({"/opt/rocm/lib/libamdhip64.so.6"}), std::vector<std::string>{"libhip"});
}

TEST(GpuLibraries, IsNotTakenInByOtherNames) {
  EXPECT_TRUE(LibrariesAmong({"/usr/lib/libcudart_static.a", "/home/libcuda/libc.so.6", "/usr/lib/libcudadebugger.so.1",
                              "", "[stack]", "/usr/lib/libtorch_cuda_linalg.so", "/tmp/libcuda-notes.txt"})
                  .empty());
}

}  // namespace
}  // namespace ptrace_prof
