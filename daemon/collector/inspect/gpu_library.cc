#include "daemon/collector/inspect/gpu_library.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "attach/base/base_name.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/path_in_root.h"
#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kCupti = "libcupti.so";
constexpr std::string_view kMpsControl = "/tmp/nvidia-mps/control";  // default; the environment may name another place

std::string_view Folder(std::string_view path) { return path.substr(0, path.rfind('/')); }

// "" if no library of that name is mapped.
std::string FindMapped(const std::vector<MemoryRegion>& regions, std::string_view name) {
  for (const MemoryRegion& region : regions) {
    if (BaseName(region.path).starts_with(name)) {
      return region.path;
    }
  }
  return "";
}

// "libcudart.so.12.4.127": "12".
std::string_view MajorVersion(std::string_view file_name) {
  constexpr std::string_view kSo = ".so.";
  const size_t so = file_name.find(kSo);
  if (so == std::string_view::npos) {
    return "";
  }
  const std::string_view version = file_name.substr(so + kSo.size());
  return version.substr(0, version.find('.'));
}

// Where NVIDIA's wheels and its toolkit have CUPTI, relative to the runtime library.
constexpr std::string_view kBesideRuntime[] = {"", "/../../cuda_cupti/lib", "/../extras/CUPTI/lib64"};

GpuLibraryPlace FindBeside(Pid pid, std::string_view runtime) {
  const UniqueFd root(::open(ProcPath(pid, "root").c_str(), O_PATH | O_CLOEXEC));
  const std::string_view major = MajorVersion(BaseName(runtime));
  // Up to CUDA 11 the name contains the release; 11.8 is the first that we work with.
  const std::string soname = fmt::format("libcupti.so.{}", major == "11" ? "11.8" : major);
  for (const std::string_view folder : kBesideRuntime) {
    const std::string path = fmt::format("{}{}/{}", Folder(runtime), folder, soname);
    if (root.is_open() && LookInRoot(root, path).is_open()) {
      return {soname, path, false};
    }
  }
  return {};
}

// From the environment at the start; `variable` ends with "=". Nullopt: it is not set.
Result<std::optional<std::string>> VariableOf(Pid pid, std::string_view variable) {
  PP_ASSIGN_OR_RETURN(const std::string environment, ReadProcFile(ProcPath(pid, "environ")));
  const std::string text = '\0' + environment;
  const size_t at = text.find('\0' + std::string(variable));
  if (at == std::string::npos) {
    return std::optional<std::string>();
  }
  const size_t begin = at + 1 + variable.size();
  return std::optional(text.substr(begin, std::min(text.find('\0', begin), text.size()) - begin));
}

}  // namespace

Result<GpuLibraryPlace> FindGpuLibrary(Pid pid, const std::vector<MemoryRegion>& regions) {
  const std::string mapped = FindMapped(regions, kCupti);
  if (!mapped.empty()) {
    const bool has_others = std::ranges::any_of(regions, [&](const MemoryRegion& region) {
      return BaseName(region.path).starts_with(kCupti) && region.path != mapped;
    });
    return GpuLibraryPlace{std::string(BaseName(mapped)), mapped, true, has_others};
  }
  const std::string runtime = FindMapped(regions, "libcudart.so");
  if (runtime.empty() && FindMapped(regions, "libcuda.so").empty()) {
    return Because(Reason::kNoCuda, fmt::format("process {} does not use CUDA", pid.value),
                   "Record its Python code without --gpu, or try again once it works on its GPU.", ThingOf(pid));
  }
  const GpuLibraryPlace beside = runtime.empty() ? GpuLibraryPlace() : FindBeside(pid, runtime);
  if (beside.path.empty()) {
    return Because(
        Reason::kCuptiBlocked,
        fmt::format("process {} uses CUDA, but libcupti is neither loaded nor beside its CUDA libraries", pid.value),
        "Install CUPTI of the same CUDA version for the job (the package nvidia-cuda-cupti), or import torch in it.",
        ThingOf(pid));
  }
  GpuLibraryPlace place = beside;
  place.is_unsure = !FindMapped(regions, "libtorch_cuda").empty();
  return place;
}

bool UsesCuda(Pid pid) {
  const auto regions = ReadMaps(pid);
  return regions.has_value() && !FindMapped(regions.value(), "libcuda.so").empty();
}

Result<void> CheckGpuMemory(Pid pid, int64_t free_bytes) {
  constexpr int64_t kLeast = 256 << 20;  // CUPTI is limited to 64 buffers of 3.2 MB per context
  if (free_bytes >= kLeast) {
    return {};
  }
  return Because(Reason::kLowGpuMemory,
                 fmt::format("only {} MiB of memory are free on the GPU of process {}, and CUPTI may need 195 MiB",
                             free_bytes >> 20, pid.value),
                 "Have the job leave 256 MiB free, or insist with --force.", ThingOf(pid));
}

bool UsesMps(Pid pid) {
  if (const auto pipe = VariableOf(pid, "CUDA_MPS_PIPE_DIRECTORY="); pipe.has_value() && pipe.value().has_value()) {
    return true;
  }
  const UniqueFd root(::open(ProcPath(pid, "root").c_str(), O_PATH | O_CLOEXEC));
  return root.is_open() && LookInRoot(root, kMpsControl).is_open();
}

Result<std::string> NvtxInjectionOf(Pid pid) {
  PP_ASSIGN_OR_RETURN(const std::optional<std::string> path, VariableOf(pid, "NVTX_INJECTION64_PATH="));
  return path.value_or("");
}

}  // namespace ptrace_prof
