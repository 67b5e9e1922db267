#include "daemon/collector/gpu/gpu_shim_boot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "attach/proc/maps.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/calls/mapped_functions.h"
#include "daemon/collector/gpu/gpu_calls.h"
#include "daemon/collector/inspect/gpu_library.h"
#include "daemon/collector/target/python_traits.h"
#include "symbolizer/cpython/interpreter_symbols.h"

namespace ptrace_prof {
namespace {

#define PP_FUNCTION_NAME(name) #name,
constexpr std::string_view kShimFunctions[] = {PP_GPU_FOR_EACH_FUNCTION(PP_FUNCTION_NAME)};
#undef PP_FUNCTION_NAME
constexpr pp_gpu_function kNeeded[] = {PP_GPU_FN_PyModuleDef_Init, PP_GPU_FN_pthread_create, PP_GPU_FN_pthread_detach,
                                       PP_GPU_FN_dlopen, PP_GPU_FN_dlsym};

constexpr uint32_t kSlotBytes = 1 << 20;
// A launching thread occupies a slot until the next flush. So a process with many threads gets more and smaller slots;
// otherwise big slots change hands less often.
constexpr size_t kThreadsOfSmallSlots = 24;
constexpr uint32_t kParts = 4;
constexpr uint32_t kFlushMillis = 250;
constexpr uint32_t kGraceMillis = 500;
constexpr uint32_t kDevicePoolLimit = 64;  // of 3.2 MB each, per context
constexpr uint32_t kStackBytes = 4 << 20;
constexpr uint32_t kSlotsForStacks = 5;  // including their other memory
constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kBurst = kSecond / 4;  // the share of its rate that a thread may save up and spend at once

Result<void> SetFunctions(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                          const std::vector<MemoryRegion>& regions, pp_gpu_boot& boot) {
  constexpr pp_gpu_function kOfPython[] = {PP_GPU_FN_PyModuleDef_Init, PP_GPU_FN_PyGILState_GetThisThreadState};
  static_assert(kOfPython[0] + 1 == kOfPython[1]);
  PP_ASSIGN_OR_RETURN(
      const std::vector<RemoteAddr> of_python,
      FindInterpreterSymbols(pid, memory, process, {&kShimFunctions[kOfPython[0]], std::size(kOfPython)}));
  for (size_t i = 0; i < std::size(kShimFunctions); ++i) {
    boot.functions[i] = FindInLibc(regions, memory, kShimFunctions[i]).value;
  }
  for (size_t i = 0; i < std::size(kOfPython); ++i) {
    boot.functions[kOfPython[i]] = of_python[i].value;
  }
  boot.functions[PP_GPU_FN_clock_gettime] = FindInMapped(regions, memory, "[vdso]", "__vdso_clock_gettime").value;
  for (const pp_gpu_function function : kNeeded) {
    if (boot.functions[function] == 0) {
      return Because(Reason::kCuptiBlocked,
                     fmt::format("recording the GPU of process {} needs its function {}, which was not found",
                                 pid.value, kShimFunctions[function]),
                     "Record its Python code without --gpu.", ThingOf(pid));
    }
  }
  return {};
}

Result<void> SetLibrary(Pid pid, const std::vector<MemoryRegion>& regions, pp_gpu_boot& boot) {
  PP_ASSIGN_OR_RETURN(const GpuLibraryPlace library, FindGpuLibrary(pid, regions));
  if (library.path.size() >= sizeof boot.library_path) {
    return Because(Reason::kCuptiBlocked, fmt::format("the path of process {}'s CUPTI is too long", pid.value), "",
                   ThingOf(pid));
  }
  std::memcpy(boot.library_path, library.path.data(), library.path.size());
  if (library.soname.size() < sizeof boot.library_soname) {
    std::memcpy(boot.library_soname, library.soname.data(), library.soname.size());
  }
  boot.flags |= library.mapped ? 0U : uint32_t{PP_GPU_BOOT_LOAD};
  return {};
}

struct ShimOffset {
  uint32_t pp_gpu_python::*offset;
  uint32_t Layout::*field;
};
constexpr ShimOffset kShimOffsets[] = {
    {&pp_gpu_python::thread_ident, &Layout::thread_id},
    {&pp_gpu_python::thread_frame, &Layout::thread_frame},
    {&pp_gpu_python::thread_cframe, &Layout::thread_cframe},
    {&pp_gpu_python::cframe_frame, &Layout::cframe_current_frame},
    {&pp_gpu_python::frame_code, &Layout::frame_code},
    {&pp_gpu_python::frame_previous, &Layout::frame_previous},
    {&pp_gpu_python::frame_instruction, &Layout::frame_instruction},
    {&pp_gpu_python::frame_owner, &Layout::frame_owner},
    {&pp_gpu_python::code_filename, &Layout::code_filename},
    {&pp_gpu_python::code_name, &Layout::code_name},
    {&pp_gpu_python::code_qualname, &Layout::code_qualname},
    {&pp_gpu_python::code_line_table, &Layout::code_line_table},
    {&pp_gpu_python::code_first_line, &Layout::code_first_line},
};
static_assert(kAbsent == PP_GPU_NO_FIELD);

pp_gpu_python DescribePython(const PythonProcess& process) {
  const Layout& layout = process.layout;
  pp_gpu_python python{};
  for (const ShimOffset& source : kShimOffsets) {
    python.*source.offset = layout.*source.field;
  }
  python.finalizing = (process.runtime + layout.runtime_finalizing).value;
  python.frame_tag_mask = static_cast<uint32_t>(layout.frame_tag_mask);
  python.no_python = layout.owner_no_python;
  python.instruction_is_index =
      layout.instruction == InstructionKind::kLastiBytes || layout.instruction == InstructionKind::kLastiUnits ? 1 : 0;
  return python;
}

// Selects those of the recorded calls that start something on the device.
void SelectLaunches(GpuApi api, std::span<const uint16_t> calls, std::span<uint16_t> launches) {
  std::ranges::fill(launches, uint16_t{0});
  size_t count = 0;
  for (const uint16_t call : calls) {
    const GpuCallRow* row = call != 0 ? FindGpuCall(api, call) : nullptr;
    if (row != nullptr && StartsGpuWork(row->kind)) {
      launches[count++] = static_cast<uint16_t>(call | (row->kind == GpuCallKind::kGraph ? PP_GPU_CALL_OF_GRAPH : 0));
    }
  }
}

void SetPace(uint32_t rate, pp_gpu_launch_class of, pp_gpu_boot& boot) {
  boot.launch_gaps[of] = rate == kEveryLaunch ? 0 : kSecond / std::max(rate, uint32_t{1});
  boot.launch_bursts[of] = kBurst - std::min(kBurst, boot.launch_gaps[of]);
}

// If the interpreter does not show which thread runs, launches are reported without stacks.
void SetLaunches(const PythonProcess& process, const GpuWishes& wishes, pp_gpu_boot& boot) {
  if (wishes.launch_rate == 0 || wishes.slots <= kSlotsForStacks ||
      boot.functions[PP_GPU_FN_PyGILState_GetThisThreadState] == 0 || boot.functions[PP_GPU_FN_pthread_self] == 0) {
    return;
  }
  boot.slot_count -= kSlotsForStacks;
  boot.stack_bytes = kStackBytes;
  boot.python = DescribePython(process);
  SetPace(wishes.launch_rate, PP_GPU_LAUNCH_SINGLE, boot);
  SetPace(wishes.graph_rate, PP_GPU_LAUNCH_GRAPH, boot);
  SelectLaunches(GpuApi::kRuntime, boot.runtime_callbacks, boot.runtime_launches);
  SelectLaunches(GpuApi::kDriver, boot.driver_callbacks, boot.driver_launches);
}

}  // namespace

Result<pp_gpu_boot> DescribeForGpuShim(Pid pid, RemoteMemory& memory, const PythonProcess& process,
                                       const GpuWishes& wishes) {
  pp_gpu_boot boot{};
  boot.python_traits = PythonTraits(process.layout);
  PP_ASSIGN_OR_RETURN(const Tid own, ReadNamespacedTid(pid, Tid(pid.value)));
  boot.target_pid = own.value;
  boot.flags = (wishes.force ? uint32_t{PP_GPU_BOOT_FORCE} : 0U) |
               (wishes.finalize ? uint32_t{PP_GPU_BOOT_FINALIZE} : 0U) |
               (UsesMps(pid) ? uint32_t{PP_GPU_BOOT_MPS} : 0U);
  boot.slot_count = wishes.slots;
  boot.slot_bytes = kSlotBytes;
  boot.backend = wishes.backend;
  boot.object_head = process.layout.object_type + static_cast<uint32_t>(sizeof(uint64_t));
  boot.lease = static_cast<uint64_t>(wishes.lease.value);
  boot.flush_millis = kFlushMillis;
  boot.grace_millis = kGraceMillis;
  boot.device_pool_limit = kDevicePoolLimit;
  SetGpuDetail(wishes.detail, &boot);
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  if (wishes.backend != PP_GPU_BACKEND_NULL) {
    PP_RETURN_IF_ERROR(SetLibrary(pid, regions, boot));
  }
  PP_RETURN_IF_ERROR(SetFunctions(pid, memory, process, regions, boot));
  SetLaunches(process, wishes, boot);
  PP_ASSIGN_OR_RETURN(const std::vector<Tid> threads, ListThreads(pid));
  if (threads.size() > kThreadsOfSmallSlots) {
    boot.slot_count *= kParts;
    boot.slot_bytes /= kParts;
  }
  return boot;
}

}  // namespace ptrace_prof
