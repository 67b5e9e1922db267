#include "daemon/collector/torch/torch_memory_slots.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "attach/inject/stub_kind.h"
#include "daemon/collector/calls/mapped_functions.h"
#include "symbolizer/elf/import_slots.h"

namespace ptrace_prof {
namespace {

#define PP_TORCH_SYMBOL(name, symbol) symbol,
constexpr std::string_view kSymbols[] = {PP_TORCH_FOR_EACH_FUNCTION(PP_TORCH_SYMBOL)};
#undef PP_TORCH_SYMBOL
constexpr std::string_view kCore = "/libc10.so";

struct Caller {
  std::string_view library;
  pp_torch_function function;
  std::string_view symbol;
};
// libc10's own calls of reportMemoryUsageToProfiler would be seen twice.
constexpr Caller kCallers[] = {
    {kCore, PP_TORCH_FN_memory_new, kSymbols[PP_TORCH_FN_memory_new]},
    {kCore, PP_TORCH_FN_memory_delete, kSymbols[PP_TORCH_FN_memory_delete]},
    {"/libtorch_cpu.so", PP_TORCH_FN_memory_report, kSymbols[PP_TORCH_FN_memory_report]},
    {"/libtorch_cpu.so", PP_TORCH_FN_memory_report, PP_TORCH_MEMORY_REPORT_BEFORE},
    {"/libc10_cuda.so", PP_TORCH_FN_memory_report, kSymbols[PP_TORCH_FN_memory_report]},
    {"/libc10_cuda.so", PP_TORCH_FN_memory_report, PP_TORCH_MEMORY_REPORT_BEFORE},
};

const MemoryRegion* RegionOf(const std::vector<MemoryRegion>& regions, RemoteAddr address) {
  const auto found = std::ranges::find_if(
      regions, [address](const MemoryRegion& one) { return one.start <= address && address < one.end; });
  return found != regions.end() ? &*found : nullptr;
}

// A slot as a dynamic linker leaves it: data of the library, with the address of the function, or of the library's own
// code as long as the function was not called. Somebody else's function there would be left out while we record.
bool IsSlot(RemoteMemory& memory, const std::vector<MemoryRegion>& regions, RemoteAddr at, uint64_t function) {
  const MemoryRegion* holder = RegionOf(regions, at);
  uint64_t value = 0;
  if (holder == nullptr || !holder->readable || holder->executable || at.value % sizeof value != 0 ||
      holder->path.empty() || memory.ReadValue(at, &value) != ReadStatus::kOk) {
    return false;
  }
  const MemoryRegion* code = RegionOf(regions, RemoteAddr(value));
  return code != nullptr && code->executable &&
         (value == function || code->path == holder->path ||
          // A child that was forked while its parent was recorded: the hook leads it on.
          code->path.find(kTorchHook.file_prefix) != std::string::npos);
}

void TakeCaller(const Caller& caller, RemoteMemory& memory, const std::vector<MemoryRegion>& regions, uint64_t function,
                std::vector<pp_torch_slot_of>& slots) {
  for (const MemoryRegion& region : regions) {
    if (region.file_offset != 0 || !region.readable || region.path.find(caller.library) == std::string::npos) {
      continue;
    }
    for (const ImportSlot& slot : FindImportSlots(memory, region.start, {&caller.symbol, 1})) {
      if (IsSlot(memory, regions, slot.at, function)) {
        const uint32_t access = PROT_READ | (RegionOf(regions, slot.at)->writable ? PROT_WRITE : 0);
        slots.push_back({slot.at.value, static_cast<uint32_t>(caller.function), access});
      }
    }
  }
}

}  // namespace

Result<void> SetMemorySlots(Pid pid, RemoteMemory& memory, const std::vector<MemoryRegion>& regions,
                            pp_torch_boot& boot) {
  uint64_t functions[PP_TORCH_FN_COUNT] = {};
  std::vector<pp_torch_slot_of> slots;
  for (const Caller& caller : kCallers) {
    const uint64_t function = FindInMapped(regions, memory, kCore, caller.symbol).value;
    if (function != 0 && (functions[caller.function] == 0 || functions[caller.function] == function)) {
      functions[caller.function] = function;
      TakeCaller(caller, memory, regions, function, slots);
    }
  }
  const auto has = [&](pp_torch_function function) {
    return functions[function] != 0 && std::ranges::count(slots, function, &pp_torch_slot_of::function) > 0;
  };
  if (!has(PP_TORCH_FN_memory_new) || !has(PP_TORCH_FN_memory_delete) || slots.size() > PP_TORCH_MEMORY_SLOTS) {
    return Because(Reason::kTorchUnsupported,
                   fmt::format("the PyTorch of process {} does not report its allocations in a known way", pid.value),
                   "please report its version", ThingOf(pid));
  }
  for (const auto function : {PP_TORCH_FN_memory_new, PP_TORCH_FN_memory_delete, PP_TORCH_FN_memory_report}) {
    boot.functions[function] = functions[function];
  }
  std::ranges::copy(slots, boot.memory);
  return {};
}

}  // namespace ptrace_prof
