#include "attach/inject/gpu_arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

#include "attach/base/clean_text.h"
#include "attach/inject/gpu_failure.h"
#include "attach/inject/sealed_memory.h"
#include "attach/inject/shared_word.h"

namespace ptrace_prof {
namespace {

bool IsPossible(const GpuArenaShape& shape) {
  return shape.slots >= 1 && shape.slots <= PP_GPU_MAX_SLOTS && shape.slot_bytes >= PP_GPU_MIN_SLOT_BYTES &&
         shape.slot_bytes <= PP_GPU_MAX_SLOT_BYTES && shape.slot_bytes % PP_PAGE == 0 &&
         shape.stack_bytes <= PP_GPU_MAX_STACK_BYTES && shape.stack_bytes % PP_PAGE == 0;
}

// Checks everything that makes the file safe to map and to access.
Result<void> CheckFile(const UniqueFd& file, const GpuArenaShape& shape) {
  if (!IsPossible(shape)) {
    return Error{Code::kInvalidArgument, "an arena cannot have that many slots, or slots of that size", ""};
  }
  return CheckSealedMemory(file, shape.size());
}

GpuClockPair PairOf(uint64_t realtime, uint64_t monotonic, uint64_t width) {
  return {Nanos(static_cast<int64_t>(realtime)), Nanos(static_cast<int64_t>(monotonic)),
          Nanos(static_cast<int64_t>(width))};
}

void WakeShim(pp_gpu_arena& head) {
  std::atomic_ref<uint32_t>(head.bell).fetch_add(1, std::memory_order_release);
  ::syscall(SYS_futex, &head.bell, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

void GpuArena::Unmapper::operator()(uint8_t* begin) const { ::munmap(begin, size); }

GpuArena::GpuArena(uint8_t* begin, const GpuArenaShape& shape)
    : memory_(begin, Unmapper{shape.size()}),
      shape_(shape),
      launches_(begin, shape.slots, shape.slot_bytes, shape.stack_bytes) {}

Result<GpuArena> GpuArena::Take(const UniqueFd& file, const GpuArenaShape& shape) {
  PP_RETURN_IF_ERROR(CheckFile(file, shape));
  void* begin = ::mmap(nullptr, shape.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) {
    return ErrnoError(errno, "cannot map the memory that is shared with the target", "Ask for fewer or smaller slots.");
  }
  GpuArena arena(static_cast<uint8_t*>(begin), shape);
  PP_RETURN_IF_ERROR(arena.ReadHead());
  return arena;
}

Result<void> GpuArena::ReadHead() {
  if (state() == GpuState::kNone) {
    return Error{Code::kUnavailable, "the shim is not ready yet", ""};
  }
  pp_gpu_arena said;
  std::memcpy(&said, &head(), sizeof said);
  if (said.magic != PP_GPU_ARENA_MAGIC || said.abi_version != PP_GPU_ABI_VERSION) {
    return NotTheSharedMemory("its header is wrong");
  }
  if (said.nonce != shape_.nonce || said.slot_count != shape_.slots || said.slot_bytes != shape_.slot_bytes ||
      said.stack_bytes != shape_.stack_bytes || said.size != shape_.size()) {
    return NotTheSharedMemory("it belongs to another capture");
  }
  return {};
}

void GpuArena::TouchAll() {
  if (::madvise(memory_.get(), shape_.size(), MADV_POPULATE_WRITE) == 0) {
    return;
  }
  for (size_t at = 0; at < shape_.size(); at += PP_PAGE) {  // for kernels before 5.14
    std::atomic_ref<uint32_t>(*reinterpret_cast<uint32_t*>(memory_.get() + at)).fetch_or(0);
  }
}

GpuState GpuArena::state() const {
  const uint32_t state = Load(head().state);
  return state <= PP_GPU_STATE_FAILED ? static_cast<GpuState>(state) : GpuState::kNone;
}

std::string_view GpuArena::step() const { return GpuStepWords(Load(head().step)); }
uint32_t GpuArena::leave_cause() const { return Load(head().leave_cause); }
uint32_t GpuArena::leave_how() const { return Load(head().leave_how); }

std::string_view GpuLeftWords(uint32_t how) {
  switch (how) {
    case PP_GPU_LEFT_DORMANT_VERSION: return "shutting it down crashes with this version (before 12.6)";
    case PP_GPU_LEFT_DORMANT_NO_CALL: return "no CUDA call was made in which it could be shut down";
    case PP_GPU_LEFT_DORMANT_CAPTURE: return "the job captured a CUDA graph all the time";
    case PP_GPU_LEFT_DORMANT_REFUSED: return "it refused to shut down";
    case PP_GPU_LEFT_DORMANT_UP:
      return "launched kernels did not run or were lost, as with a CUDA graph capture that began before the recording";
    case PP_GPU_LEFT_DORMANT_UNSURE: return "it is unknown whether a CUDA graph is being captured";
    case PP_GPU_LEFT_DORMANT_ASKED: return "shutting it down can end a job's CUDA with error 719 (seen with CUDA 13.0)";
    case PP_GPU_LEFT_DORMANT_BROKEN: return "it no longer worked, so it was not used any more";
    default: return "";
  }
}

Error GpuArena::Failure(Pid pid) const {
  const GpuState now = state();
  if (now == GpuState::kLeft) {
    return GpuEarlyEnd(pid, leave_cause(), {0, Load(head().error_step), Load(head().error_number), 0, 0, ""});
  }
  if (now != GpuState::kFailed) {
    return {Code::kOk, "", ""};
  }
  return GpuFailure(pid, {Load(head().error), Load(head().error_step), Load(head().error_number),
                          Load(head().backend_version), Load(head().driver_version), OtherTool()});
}

std::string GpuArena::OtherTool() const {
  char name[PP_GPU_NAME_BYTES];
  std::memcpy(name, head().other_tool, sizeof name);
  std::string_view text(name, ::strnlen(name, sizeof name));
  constexpr std::string_view kPrefix = "CUPTI for ";  // text of CUPTI (seen with 13.0), as is its text for no name
  text.remove_prefix(text.starts_with(kPrefix) ? kPrefix.size() : 0);
  return text == "<not provided>" ? "" : CleanText(text);
}

void GpuArena::RenewLease() { std::atomic_ref<uint64_t>(head().beat).fetch_add(1, std::memory_order_release); }

void GpuArena::Ring() { WakeShim(head()); }

void GpuArena::AskToLeave(GpuLeave how) {
  constexpr uint32_t kWanted[] = {PP_GPU_WANT_LEAVE, PP_GPU_WANT_LEAVE_NOW, PP_GPU_WANT_LEAVE_UP};
  Store(head().wanted, kWanted[static_cast<size_t>(how)]);
  Ring();
}

void GpuArena::AskToLeave(const UniqueFd& file) {
  const int seals = ::fcntl(file.get(), F_GET_SEALS);
  struct stat info {};
  if (seals < 0 || (seals & kSealsNeeded) != kSealsNeeded || ::fstat(file.get(), &info) != 0 ||
      info.st_size < static_cast<off_t>(sizeof(pp_gpu_arena))) {
    return;
  }
  void* begin = ::mmap(nullptr, sizeof(pp_gpu_arena), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (begin == MAP_FAILED) {
    return;
  }
  auto& arena = *static_cast<pp_gpu_arena*>(begin);
  if (arena.magic == PP_GPU_ARENA_MAGIC && arena.abi_version == PP_GPU_ABI_VERSION) {
    Store(arena.wanted, uint32_t{PP_GPU_WANT_LEAVE_NOW});
    WakeShim(arena);
  }
  ::munmap(begin, sizeof(pp_gpu_arena));
}

pp_gpu_slot& GpuArena::slot(uint32_t index) const {
  return *reinterpret_cast<pp_gpu_slot*>(memory_.get() + PP_GPU_SLOT_OFFSET(index));
}

std::span<uint8_t> GpuArena::buffer(uint32_t index) const {
  return {memory_.get() + PP_GPU_BUFFER_OFFSET(shape_.slots, uint64_t{shape_.slot_bytes}, index), shape_.slot_bytes};
}

// A record that did not fit may have been begun behind the valid ones, so one more page is zeroed.
void GpuArena::GiveBack(uint32_t index, uint64_t used) {
  const std::span<uint8_t> bytes = buffer(index);
  const uint64_t dirty = (used + 2 * PP_PAGE - 1) / PP_PAGE * PP_PAGE;
  std::memset(bytes.data(), 0, std::min<uint64_t>(dirty, bytes.size()));
  Store(slot(index).state, uint32_t{PP_GPU_SLOT_FREE});
}

size_t GpuArena::Drain(const std::function<void(const GpuBatch&)>& visit, size_t limit, Nanos until) {
  struct Full {
    uint64_t sequence;
    uint32_t index;
  };
  std::vector<Full> full;
  for (uint32_t i = 0; i < shape_.slots; ++i) {
    if (Load(slot(i).state) == PP_GPU_SLOT_FULL && static_cast<int64_t>(Load(slot(i).monotonic)) <= until.value) {
      full.push_back({Load(slot(i).sequence), i});
    }
  }
  std::ranges::sort(full, {}, &Full::sequence);
  full.resize(std::min(full.size(), limit));
  for (const Full& one : full) {
    const pp_gpu_slot said = slot(one.index);
    if (said.valid > shape_.slot_bytes) {
      ++invalid_;
      GiveBack(one.index, shape_.slot_bytes);
      continue;
    }
    visit({buffer(one.index).first(said.valid), one.sequence, PairOf(said.realtime, said.monotonic, 0)});
    GiveBack(one.index, said.valid);
  }
  return full.size();
}

size_t GpuArena::Salvage(const std::function<void(const GpuBatch&)>& visit) {
  size_t count = 0;
  for (uint32_t i = 0; i < shape_.slots; ++i) {
    if (Load(slot(i).state) == PP_GPU_SLOT_HELD) {
      visit({buffer(i), 0, {}});
      ++count;
    }
  }
  return count;
}

void GpuArena::LetGo() {
  for (uint32_t i = 0; i < shape_.slots; ++i) {
    if (Load(slot(i).state) != PP_GPU_SLOT_HELD) {
      ::madvise(buffer(i).data(), buffer(i).size(), MADV_REMOVE);
    }
  }
  const uint64_t launches = PP_GPU_LAUNCHES_OFFSET(shape_.slots, uint64_t{shape_.slot_bytes});
  if (launches < shape_.size()) {
    ::madvise(memory_.get() + launches, shape_.size() - launches, MADV_REMOVE);
  }
}

GpuLibrary GpuArena::library() const {
  GpuLibrary library;
  library.backend = Load(head().backend);
  library.version = Load(head().backend_version);
  library.record_time = Load(head().record_time);
  library.recording_since = Nanos(static_cast<int64_t>(Load(head().recording_since)));
  library.system_thread_ids = Load(head().thread_ids) != 0;
  std::memcpy(library.strides.data(), head().strides, sizeof head().strides);
  std::memcpy(library.kind_results.data(), head().kind_results, sizeof head().kind_results);
  return library;
}

GpuCounts GpuArena::counts() const {
  pp_gpu_arena& from = head();
  return {Load(from.handed_out),
          Load(from.declined),
          Load(from.discarded),
          Load(from.completed),
          invalid_,
          Load(from.dropped),
          Load(from.valid_bytes),
          Load(from.captures),
          Load(from.launches_refused),
          Load(from.launches_dropped) + Load(from.stacks_dropped)};
}

std::vector<GpuClockPair> GpuArena::NewClocks() {
  const uint64_t written = Load(head().clocks);
  if (written < clocks_seen_ || written - clocks_seen_ > PP_GPU_CLOCKS) {
    clocks_seen_ = written < PP_GPU_CLOCKS ? 0 : written - PP_GPU_CLOCKS;
  }
  auto* ring = reinterpret_cast<pp_gpu_clock*>(memory_.get() + PP_GPU_CLOCKS_OFFSET(shape_.slots));
  std::vector<GpuClockPair> pairs;
  while (clocks_seen_ < written) {
    pp_gpu_clock& place = ring[++clocks_seen_ % PP_GPU_CLOCKS];
    const uint64_t before = Load(place.sequence);
    const GpuClockPair pair = PairOf(Load(place.realtime), Load(place.monotonic), Load(place.width));
    if (before == clocks_seen_ && Load(place.sequence) == before) {
      pairs.push_back(pair);
    }
  }
  return pairs;
}

}  // namespace ptrace_prof
