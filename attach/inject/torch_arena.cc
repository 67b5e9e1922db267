#include "attach/inject/torch_arena.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "attach/abi/torch_boot.h"
#include "attach/inject/sealed_memory.h"
#include "attach/inject/shared_word.h"

namespace ptrace_prof {

void TorchArena::Unmapper::operator()(uint8_t* begin) const { ::munmap(begin, size); }

TorchArena::TorchArena(uint8_t* begin, const TorchArenaShape& shape) : memory_(begin, Unmapper{shape.size()}) {
  rings_.reserve(shape.rings);
  for (uint32_t i = 0; i < shape.rings; ++i) {
    rings_.emplace_back(reinterpret_cast<pp_ring*>(begin + PP_RING_OFFSET(i)),
                        reinterpret_cast<const pp_record*>(begin + PP_RECORDS_OFFSET(shape.rings, shape.records, i)),
                        shape.records, shape.records);
  }
}

Result<TorchArena> TorchArena::Take(const UniqueFd& file, const TorchArenaShape& shape) {
  if (shape.rings < 1 || shape.rings > PP_MAX_RINGS || !std::has_single_bit(shape.records) ||
      shape.records < PP_TORCH_MIN_RING_RECORDS || shape.records > PP_TORCH_MAX_RING_RECORDS) {
    return Error{Code::kInvalidArgument, "the memory for operators cannot have that many rings or records", ""};
  }
  PP_RETURN_IF_ERROR(CheckSealedMemory(file, shape.size()));
  void* begin = ::mmap(nullptr, shape.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) {
    return ErrnoError(errno, "cannot map the memory that is shared with the target", "");
  }
  TorchArena arena(static_cast<uint8_t*>(begin), shape);
  PP_RETURN_IF_ERROR(arena.ReadHead(shape));
  return arena;
}

Result<void> TorchArena::ReadHead(const TorchArenaShape& shape) {
  if (state() == ChannelState::kNone) {
    return Error{Code::kUnavailable, "the hook is not ready yet", ""};
  }
  pp_torch_arena said;
  std::memcpy(&said, &head(), sizeof said);
  if (said.magic != PP_TORCH_MAGIC || said.abi_version != PP_TORCH_ABI_VERSION) {
    return NotTheSharedMemory("its header is wrong");
  }
  if (said.nonce != shape.nonce || said.ring_count != shape.rings || said.ring_records != shape.records ||
      said.size != shape.size()) {
    return NotTheSharedMemory("it belongs to another capture");
  }
  private_page_ = RemoteAddr(said.private_page);
  return {};
}

ChannelState TorchArena::state() const {
  const uint32_t state = Load(head().state);
  return state <= PP_STATE_FAILED ? static_cast<ChannelState>(state) : ChannelState::kNone;
}

bool TorchArena::lost_lease() const { return Load(head().leave_cause) == PP_LEAVE_LEASE; }

void TorchArena::RenewLease(uint64_t until) { Store(head().lease, until); }

void TorchArena::AskToLeave() { Store(head().leave, uint64_t{1}); }

void TorchArena::AskToLeave(const UniqueFd& file) {
  struct stat info {};
  if (::fstat(file.get(), &info) != 0 || CheckSealedMemory(file, static_cast<uint64_t>(info.st_size)).has_error() ||
      info.st_size < static_cast<off_t>(sizeof(pp_torch_arena))) {
    return;
  }
  void* begin = ::mmap(nullptr, sizeof(pp_torch_arena), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) {
    return;
  }
  auto& arena = *static_cast<pp_torch_arena*>(begin);
  if (arena.magic == PP_TORCH_MAGIC && arena.abi_version == PP_TORCH_ABI_VERSION) {
    Store(arena.leave, uint64_t{1});
  }
  ::munmap(begin, sizeof(pp_torch_arena));
}

Result<void> TorchArena::SetArmed(RemoteMemory& memory, RemoteWriter& writer, bool armed) {
  return SetArmedIn(private_page_, memory, writer, armed);
}

void TorchArena::SetRow(const pp_torch_row& row) {
  pp_torch_row& to = head().row;
  const uint32_t is_set = 1;
  to.flags = row.flags;
  to.function_index = row.function_index;
  to.sequence = row.sequence;
  to.inputs = row.inputs;
  to.forward_thread = row.forward_thread;
  to.handle = row.handle;
  to.is_async = row.is_async;
  Store(to.is_set, is_set);
}

bool TorchArena::is_unreadable() const { return Load(head().unreadable) != 0; }

bool TorchArena::inputs_off() const { return Load(head().inputs_off) != 0; }

uint64_t TorchArena::memory_slots() const { return Load(head().memory_slots); }

double TorchArena::CostTicks() const {
  double cost = 0;
  for (const auto& timed : head().timed) {
    const uint64_t count = Load(timed.count);
    if (count == 0) {
      return 0;
    }
    cost += static_cast<double>(Load(timed.ticks)) / static_cast<double>(count);
  }
  return cost;
}

uint32_t TorchArena::trace_state() const { return Load(head().trace_state); }

uint32_t TorchArena::trace_pauses() const { return Load(head().trace_pauses); }

void TorchArena::EndTrace() { Store(head().trace_end, uint64_t{1}); }

uint64_t TorchArena::without_ring() const { return Load(head().without_ring); }

}  // namespace ptrace_prof
