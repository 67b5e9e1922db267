#include "daemon/collector/torch/torch_boot.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <string_view>
#include <vector>

#include "attach/abi/torch_arena.h"
#include "attach/inject/stub_kind.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/calls/mapped_functions.h"
#include "daemon/collector/target/python_traits.h"
#include "daemon/collector/torch/execution_trace.h"
#include "daemon/collector/torch/torch_rows.h"
#include "symbolizer/cpython/interpreter_symbols.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kLibrary = "/libtorch_cpu.so";
// torch::profiler::impl::inputTypes; with the newer C++ ABI its name has a tag.
constexpr std::string_view kOfOldStrings = "_ZN5torch8profiler4impl10inputTypesERKN2at14RecordFunctionE";
constexpr uint32_t kLeastRings = 8;
constexpr uint32_t kRingsPerThread = 2;  // threads end, and others begin
constexpr Nanos kFirstLease = Nanos::FromSeconds(10);
// From switching PyTorch's observer off to its removal: a thread must have left it then.
constexpr Nanos kGrace = Nanos::FromMillis(100);

#define PP_TORCH_SYMBOL(name, symbol) symbol,
constexpr std::string_view kSymbols[] = {PP_TORCH_FOR_EACH_FUNCTION(PP_TORCH_SYMBOL)};
#undef PP_TORCH_SYMBOL

// All that may be needed later is set even if none is wanted: an earlier capture may still have to end its own.
void SetTrace(const std::vector<MemoryRegion>& regions, RemoteMemory& memory, bool is_old, TickClock& clock,
              pp_torch_boot& boot) {
  for (const auto function :
       {PP_TORCH_FN_trace_add, PP_TORCH_FN_trace_enable, PP_TORCH_FN_trace_disable, PP_TORCH_FN_trace_remove}) {
    const bool is_add = function == PP_TORCH_FN_trace_add;
    boot.functions[function] =
        FindInMapped(regions, memory, kLibrary, is_add && is_old ? PP_TORCH_TRACE_ADD_OLD_STRINGS : kSymbols[function])
            .value;
  }
  const std::string name = ExecutionTraceName(boot.nonce);
  name.copy(boot.trace_name, sizeof boot.trace_name - 1);
  boot.trace_most = kMostExecutionTrace + kMostAtItsEnd;
  boot.trace_grace = clock.TicksIn(kGrace);
  // No version before 2.0 makes one.
  boot.trace_forward_thread = ForwardThreadSince2(is_old);
}

void SetRings(Pid pid, pp_torch_boot& boot) {
  const auto listed = ListThreads(pid);
  const auto threads = static_cast<uint32_t>(listed.has_value() ? listed.value().size() : 1);
  boot.ring_count = std::clamp(threads * kRingsPerThread, kLeastRings, PP_MAX_RINGS);
  const uint64_t each = (PP_TORCH_MAX_ARENA - PP_PAGE) / boot.ring_count - PP_PAGE;
  boot.ring_records = static_cast<uint32_t>(
      std::bit_floor(std::min<uint64_t>(each / (2 * sizeof(uint64_t)), PP_TORCH_MAX_RING_RECORDS)));
}

}  // namespace

Error NoTorch(Pid pid) {
  return Because(Reason::kNoTorch, fmt::format("process {} has not loaded PyTorch (libtorch_cpu.so)", pid.value),
                 "Record it without --torch.", ThingOf(pid));
}

bool HasTorch(const std::vector<MemoryRegion>& regions) {
  return std::ranges::any_of(
      regions, [](const MemoryRegion& region) { return region.path.find(kLibrary) != std::string::npos; });
}

Result<pp_torch_boot> DescribeForTorch(Pid pid, RemoteMemory& memory, const PythonProcess& process, TickClock& clock,
                                       TorchWanted wanted) {
#ifndef __x86_64__
  return Because(Reason::kTorchUnsupported, "PyTorch's operators can be recorded on x86-64 only", "", ThingOf(pid));
#endif
  PP_ASSIGN_OR_RETURN(const std::vector<MemoryRegion> regions, ReadMaps(pid));
  if (!HasTorch(regions)) {
    return NoTorch(pid);
  }
  pp_torch_boot boot{};
  boot.python_traits = PythonTraits(process.layout);
  PP_ASSIGN_OR_RETURN(const Tid own, ReadNamespacedTid(pid, Tid(pid.value)));
  boot.target_pid = own.value;
  boot.object_head = process.layout.object_type + static_cast<uint32_t>(sizeof(uint64_t));
  boot.clock = clock.source() == TickSource::kCounter ? PP_CLOCK_TSC : PP_CLOCK_MONOTONIC;
  boot.lease = clock.Ticks() + clock.TicksIn(kFirstLease);
  boot.nonce = MakeNonce();
  SetRings(pid, boot);
  const bool is_old = !FindInMapped(regions, memory, kLibrary, kOfOldStrings).IsNull();
  boot.flags = (wanted.inputs ? uint32_t{PP_TORCH_BOOT_INPUTS} : 0) |
               (is_old ? uint32_t{PP_TORCH_BOOT_OLD_STRINGS} : 0) |
               (wanted.inputs && wanted.memory ? uint32_t{PP_TORCH_BOOT_STORAGES} : 0);
  boot.flags |= wanted.execution_trace ? uint32_t{PP_TORCH_BOOT_TRACE} : 0;
  SetTrace(regions, memory, is_old, clock, boot);
  std::ranges::copy(TensorRows(), boot.tensors);
  PP_ASSIGN_OR_RETURN(const std::vector<RemoteAddr> python,
                      FindInterpreterSymbols(pid, memory, process, {&kSymbols[PP_TORCH_FN_PyModuleDef_Init], 1}));
  boot.functions[PP_TORCH_FN_PyModuleDef_Init] = python.front().value;
  boot.functions[PP_TORCH_FN_clock_gettime] =
      FindInMapped(regions, memory, "[vdso]", kSymbols[PP_TORCH_FN_clock_gettime]).value;
  for (const auto function : {PP_TORCH_FN_add_callback, PP_TORCH_FN_remove_callback, PP_TORCH_FN_thread_id}) {
    boot.functions[function] = FindInMapped(regions, memory, kLibrary, kSymbols[function]).value;
    if (boot.functions[function] == 0) {
      return Because(Reason::kTorchUnsupported,
                     fmt::format("the PyTorch of process {} cannot report its operators: it has no function {}",
                                 pid.value, kSymbols[function]),
                     "PyTorch 1.13 or later is needed; record the process without --torch.", ThingOf(pid));
    }
  }
  return boot;
}

}  // namespace ptrace_prof
