#include "daemon/collector/inspect/gpu_outlook.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string_view>

#include "attach/base/base_name.h"
#include "attach/base/unique_fd.h"
#include "attach/proc/path_in_root.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

// CUDA toolkits name the file of CUPTI by year and number (libcupti.so.2022.3.0), in these releases of CUDA.
struct NamedByYear {
  int year;
  int number;
  CudaRelease release;
};
constexpr NamedByYear kByYear[] = {
    {2022, 3, {11, 8}}, {2022, 4, {12, 0}}, {2023, 1, {12, 1}}, {2023, 2, {12, 2}},
    {2023, 3, {12, 3}}, {2024, 1, {12, 4}}, {2024, 2, {12, 5}}, {2024, 3, {12, 6}},
    {2025, 1, {12, 8}}, {2025, 2, {12, 9}}, {2025, 3, {13, 0}}, {2025, 4, {13, 1}},
};
constexpr int kFirstYear = 2000;
constexpr CudaRelease kOldest{11, 8};
constexpr CudaRelease kSafeWithMps{13, 0};

// The first CUPTI of CUDA 13.0 crashes jobs. In toolkits its file name shows it. In wheels the file name says only
// "13", so the directory that pip puts beside the package is checked. Both updates of 13.0 have 2025.3.1, and 13.0.85.
constexpr int kCrashingFile[] = {2025, 3, 0};
constexpr std::string_view kFileInWheels = "libcupti.so.13";
// Relative to nvidia/cu13/lib.
constexpr std::string_view kCrashingWheel = "../../../nvidia_cuda_cupti-13.0.48.dist-info";

// The oldest driver for each CUDA, from NVIDIA's release notes (minor-version compatibility).
struct DriverRow {
  int cuda;
  int driver;
};
constexpr DriverRow kDrivers[] = {{11, 450}, {12, 525}, {13, 580}};

// Traces of another tool in a process (loaded, or started the process): a variable that is not empty, or a mapped file.
struct Trace {
  std::string_view begin;
  std::string_view tool;
};
constexpr Trace kVariables[] = {
    {"CUDA_INJECTION64_PATH=", "the tool of CUDA_INJECTION64_PATH"},
    {"NSYS_PROFILING_SESSION_ID=", "Nsight Systems"},
};
constexpr Trace kFiles[] = {
    {"libToolsInjection", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"},
    {"libInterceptorInjectionTarget", "Nsight Compute"},
    {"libsanitizer-", "compute-sanitizer"},
    {"libcudadebugger.so", "cuda-gdb"},
};

std::vector<int> Numbers(std::string_view text) {
  std::vector<int> numbers;
  for (int number = 0; !text.empty();) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) {
      break;
    }
    numbers.push_back(number);
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    text.remove_prefix(text.starts_with('.') ? 1 : text.size());
  }
  return numbers;
}

constexpr std::string_view kBeforeRelease = "libcupti.so.";

// Files of a wheel are not read or listed; only the existence of that name is checked.
bool CrashesJobs(Pid pid, const GpuLibraryPlace& library) {
  const std::string_view file = BaseName(library.path);
  if (file != kFileInWheels) {
    return file.starts_with(kBeforeRelease) &&
           std::ranges::equal(Numbers(file.substr(kBeforeRelease.size())), kCrashingFile);
  }
  const UniqueFd root(::open(ProcPath(pid, "root").c_str(), O_PATH | O_CLOEXEC));
  const std::string_view folder = std::string_view(library.path).substr(0, library.path.size() - file.size());
  return root.is_open() && LookInRoot(root, std::string(folder) + std::string(kCrashingWheel)).is_open();
}

std::string OtherTool(Pid pid, const std::vector<MemoryRegion>& regions) {
  for (const Trace& trace : kFiles) {
    if (std::ranges::any_of(
            regions, [&](const MemoryRegion& region) { return BaseName(region.path).starts_with(trace.begin); })) {
      return std::string(trace.tool);
    }
  }
  const Result<std::string> environment = ReadEnviron(pid);
  std::string_view rest = environment.has_value() ? std::string_view(environment.value()) : std::string_view();
  while (!rest.empty()) {
    const std::string_view variable = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(variable.size() + 1, rest.size()));
    for (const Trace& trace : kVariables) {
      if (variable.starts_with(trace.begin) && variable.size() > trace.begin.size()) {
        return std::string(trace.tool);
      }
    }
  }
  return "";
}

constexpr std::string_view kDriverFile = "libcuda.so";

const MemoryRegion* FindDriver(const std::vector<MemoryRegion>& regions) {
  const auto found = std::ranges::find_if(
      regions, [](const MemoryRegion& region) { return BaseName(region.path).starts_with(kDriverFile); });
  return found == regions.end() ? nullptr : &*found;
}

// Version of the driver, from "libcuda.so.580.65.06" or from the kernel module. The library of a job with NVIDIA's
// forward compatibility is newer than the module. The module says "NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 535.104.05  Sat Aug 19 …", or "… Open Kernel Module for x86_64 …".
std::optional<int> DriverVersion(const MemoryRegion* driver) {
  constexpr int kLeast = 100;  // the 1 of "libcuda.so.1" is not the driver's version
  std::string_view name = driver != nullptr ? BaseName(driver->path).substr(kDriverFile.size()) : std::string_view();
  name.remove_prefix(name.starts_with('.') ? 1 : 0);
  if (const std::vector<int> numbers = Numbers(name); !numbers.empty() && numbers.front() >= kLeast) {
    return numbers.front();
  }
  constexpr std::string_view kBefore = "Kernel Module";
  const Result<std::string> text = ReadProcFile("/proc/driver/nvidia/version");
  std::string_view rest = text.has_value() ? std::string_view(text.value()) : std::string_view();
  for (const std::string_view word : {kBefore, std::string_view("  ")}) {
    const size_t at = rest.find(word);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + word.size());
  }
  const std::vector<int> numbers = Numbers(rest.substr(std::min(rest.find_first_not_of(' '), rest.size())));
  return numbers.empty() ? std::nullopt : std::optional(numbers.front());
}

Check Limited(Pid pid, Reason reason, std::string cause, std::string remedy) {
  return {pid, "gpu", Verdict::kLimited, std::move(cause), std::move(remedy), Code::kOk, reason};
}

std::string Name(const CudaRelease& release) {
  return release.minor < 0 ? fmt::format("CUDA {}", release.major)
                           : fmt::format("CUDA {}.{}", release.major, release.minor);
}

bool IsBefore(const CudaRelease& release, const CudaRelease& other) {
  return release.minor < 0 ? release.major < other.major : release < other;
}

bool IsDriverTooOld(const CudaRelease& release, int driver) {
  const auto* row = std::ranges::find(kDrivers, release.major, &DriverRow::cuda);
  return row != std::end(kDrivers) && driver < row->driver;
}

}  // namespace

std::optional<CudaRelease> CuptiReleaseOf(std::string_view file_name) {
  if (!file_name.starts_with(kBeforeRelease)) {
    return std::nullopt;
  }
  const std::vector<int> numbers = Numbers(file_name.substr(kBeforeRelease.size()));
  if (numbers.empty()) {
    return std::nullopt;
  }
  if (numbers[0] < kFirstYear) {
    return CudaRelease{numbers[0], numbers.size() > 1 ? numbers[1] : -1};
  }
  const auto* row = std::ranges::find_if(kByYear, [&](const NamedByYear& named) {
    return numbers.size() > 1 && named.year == numbers[0] && named.number == numbers[1];
  });
  if (row != std::end(kByYear)) {
    return row->release;
  }
  const bool is_older = numbers[0] < kByYear[0].year ||
                        (numbers[0] == kByYear[0].year && numbers.size() > 1 && numbers[1] < kByYear[0].number);
  return is_older ? std::optional(CudaRelease{11, 0}) : std::nullopt;
}

GpuOutlook LookAtGpu(Pid pid, const std::vector<MemoryRegion>& regions) {
  const MemoryRegion* driver = FindDriver(regions);
  GpuOutlook outlook{.library = FindGpuLibrary(pid, regions),
                     .release = {},
                     .has_driver = driver != nullptr,
                     .other_tool = OtherTool(pid, regions),
                     .uses_mps = UsesMps(pid),
                     .driver = DriverVersion(driver)};
  if (outlook.library.has_value()) {
    outlook.release = CuptiReleaseOf(BaseName(outlook.library.value().path));
    outlook.crashes_jobs = CrashesJobs(pid, outlook.library.value());
  }
  return outlook;
}

Result<void> CheckGpuCompany(Pid pid, const GpuOutlook& outlook) {
  if (outlook.torch_profiler.has_error()) {
    return outlook.torch_profiler;
  }
  if (!outlook.other_tool.empty()) {
    return Because(Reason::kConflictSubscriber,
                   fmt::format("process {} already runs under {}, and CUPTI serves one tool at a time", pid.value,
                               outlook.other_tool),
                   "Stop that tool, or start the job without it; --force tries anyway.", ThingOf(pid));
  }
  if (outlook.library.has_value() && outlook.library.value().is_unsure) {
    return Because(Reason::kCuptiBlocked,
                   fmt::format("process {} has loaded several copies of CUPTI, or a PyTorch with its own copy: only "
                               "the copy that its CUDA uses can record",
                               pid.value),
                   fmt::format("Have the job load one of them; --force uses {}.", outlook.library.value().path),
                   ThingOf(pid));
  }
  return {};
}

Check JudgeGpu(Pid pid, const GpuOutlook& outlook) {
  if (outlook.library.has_error()) {
    const Error& error = outlook.library.error();
    if (error.reason == Reason::kNoCuda) {
      return {pid, "gpu", Verdict::kOk, "it does not use CUDA: `record --gpu` has nothing to record", ""};
    }
    return Limited(pid, error.reason, error.message, error.remedy);
  }
  if (!outlook.has_driver) {
    return {pid, "gpu", Verdict::kOk, "it has not used CUDA yet: `record --gpu` has nothing to record until it does",
            ""};
  }
  const std::optional<CudaRelease>& release = outlook.release;
  if (release && IsBefore(*release, kOldest)) {
    return Limited(pid, Reason::kCuptiTooOld, "its CUPTI is older than that of CUDA 11.8, the oldest supported one",
                   "use a newer CUDA toolkit or PyTorch for the job");
  }
  if (outlook.crashes_jobs) {
    return Limited(pid, Reason::kCuptiBlocked, "its CUPTI is that of CUDA 13.0, which is known to crash jobs",
                   "use CUDA 13.0 update 1 or later for the job, or insist with --force");
  }
  if (release && outlook.driver && IsDriverTooOld(*release, *outlook.driver)) {
    return Limited(
        pid, Reason::kDriverTooOld,
        fmt::format("NVIDIA driver {} is too old for its CUPTI, that of {}", *outlook.driver, Name(*release)),
        "install a driver for this CUDA, or use an older CUDA for the job");
  }
  if (const Result<void> company = CheckGpuCompany(pid, outlook); company.has_error()) {
    const Error& error = company.error();
    return Limited(pid, error.reason, error.message, error.remedy);
  }
  if (outlook.uses_mps && release && IsBefore(*release, kSafeWithMps)) {
    return Limited(pid, Reason::kMpsUnsafe,
                   "it shares its GPU through MPS, where CUPTI before CUDA 13 can hang the job",
                   "use CUDA 13.0 update 1 and driver 580 or later, or insist with --force");
  }
  return {pid, "gpu", Verdict::kOk,
          fmt::format("`record --gpu` finds its CUPTI ({}{}); only recording shows whether another tool, such as "
                      "PyTorch's profiler, already uses it",
                      outlook.library.value().path, release ? ", " + Name(*release) : ""),
          ""};
}

Check JudgeGpuMemory(Pid pid, int64_t free_bytes, Check otherwise) {
  const Result<void> room = CheckGpuMemory(pid, free_bytes);
  return room.has_error() ? Limited(pid, room.error().reason, room.error().message, room.error().remedy)
                          : std::move(otherwise);
}

}  // namespace ptrace_prof
