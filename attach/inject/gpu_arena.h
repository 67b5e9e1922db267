// The collector's side of the memory that it shares with a target whose GPU is recorded (attach/abi/gpu_arena.h).
//
// Take() checks the file from the target before mapping it, as Channel does: a memfd of exactly the requested size,
// sealed so that it can never shrink. All sizes and offsets follow from the request, never from the content of the
// memory. The arena does not know the records: it passes them on as bytes, in place, and gives the buffers back zeroed.
// Owns the mapping; belongs to one thread.
//
//   kAttaching ──► kRecording ──► kDetaching ──► kLeft        kAttaching ──► kFailed
//       └──────────────────────────────────────────┘ (cancelled)
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attach/abi/gpu_arena.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/gpu_launch_area.h"

namespace ptrace_prof {

struct GpuArenaShape {
  uint32_t slots = 0;       // 1..PP_GPU_MAX_SLOTS
  uint32_t slot_bytes = 0;  // a multiple of the page, PP_GPU_MIN_SLOT_BYTES..PP_GPU_MAX_SLOT_BYTES
  uint64_t nonce = 0;
  uint32_t stack_bytes = 0;  // room for stacks of launches, a multiple of the page, at most PP_GPU_MAX_STACK_BYTES; 0:
                             // none

  uint64_t size() const { return PP_GPU_ARENA_SIZE(slots, uint64_t{slot_bytes}, uint64_t{stack_bytes}); }
};

enum class GpuState : uint32_t {
  kNone = PP_GPU_STATE_NONE,
  kAttaching = PP_GPU_STATE_ATTACHING,
  kRecording = PP_GPU_STATE_RECORDING,
  kDetaching = PP_GPU_STATE_DETACHING,
  kLeft = PP_GPU_STATE_LEFT,
  kFailed = PP_GPU_STATE_FAILED,
};

// The same moment on the target's CLOCK_REALTIME and CLOCK_MONOTONIC, known to within `width` (0: not reported).
struct GpuClockPair {
  Nanos realtime;
  Nanos monotonic;
  Nanos width;
};

// A buffer that was given back. The bytes are in shared memory, and a target may change them while they are read. So
// copy each field once, and do not use it as a bound without a check.
struct GpuBatch {
  std::span<const uint8_t> records;
  uint64_t sequence = 0;  // in the order in which buffers were given back, from 1; 0: from Salvage
  GpuClockPair clock;     // when it was given back; zero: from Salvage
};

struct GpuCounts {
  uint64_t handed_out = 0;   // buffers, as all fields up to `invalid`
  uint64_t declined = 0;     // requested while none was free: records were lost
  uint64_t discarded = 0;    // the same, with the written records thrown away
  uint64_t completed = 0;    // given back
  uint64_t invalid = 0;      // given back in an invalid state, and skipped
  uint64_t dropped = 0;      // records that the library lost
  uint64_t valid_bytes = 0;  // bytes of records
  uint64_t captures = 0;     // CUDA graph captures in progress
  // Launches whose stacks were not recorded: because launches followed each other too fast, or for lack of room.
  uint64_t stacks_refused = 0;
  uint64_t stacks_lost = 0;
};

// Facts about the library once it records.
struct GpuLibrary {
  uint32_t backend = 0;      // pp_gpu_backend_id
  uint32_t version = 0;      // result of cuptiGetVersion
  uint32_t record_time = 0;  // pp_gpu_time
  Nanos recording_since;     // on CLOCK_MONOTONIC: earlier calls may be recorded in part
  bool system_thread_ids = false;
  std::array<uint16_t, PP_GPU_KINDS> strides{};  // bytes from one record of a kind to the next; 0: no such kind
  // The result of switching on each kind; UINT16_MAX: not tried.
  std::array<uint16_t, PP_GPU_KINDS> kind_results{};
};

// The reason why CUPTI stays in a process that was left so (pp_gpu_leave_how), in words; "" if it does not stay.
std::string_view GpuLeftWords(uint32_t how);

enum class GpuLeave : uint8_t {
  kWhenDone,  // after all work launched so far has been recorded
  kNow,       // without waiting for that, and CUPTI is not shut down
  kUp,        // as the first, but CUPTI is not shut down
};

class GpuArena {
 public:
  // kUnavailable: not ready yet, try again. TRACER_LOST: not the requested memory.
  static Result<GpuArena> Take(const UniqueFd& file, const GpuArenaShape& shape);

  GpuArena(GpuArena&&) noexcept = default;
  GpuArena& operator=(GpuArena&&) noexcept = default;

  // Makes every page present, charged to us, so that no launch of the target pays for it. Takes some milliseconds.
  void TouchAll();

  GpuState state() const;
  // The current step, in words; after the end, how CUPTI was left.
  std::string_view step() const;
  uint32_t leave_cause() const;  // pp_gpu_leave_cause
  uint32_t leave_how() const;    // pp_gpu_leave_how
  // The reason why it failed, or left without a request. kOk: it did neither.
  Error Failure(Pid pid) const;

  // Signals that the collector is alive. Call it at least every third of pp_gpu_boot.lease.
  void RenewLease();
  // After state kLeft, there may still be buffers to drain.
  void AskToLeave(GpuLeave how = GpuLeave::kWhenDone);
  // The same for a file that may be another collector's arena.
  static void AskToLeave(const UniqueFd& file);

  // Visits the buffers given back not after `until` (CLOCK_MONOTONIC), in that order, at most `limit`. Each is zeroed
  // and free again once `visit` returns. Returns their number.
  size_t Drain(const std::function<void(const GpuBatch&)>& visit, size_t limit = SIZE_MAX,
               Nanos until = Nanos(INT64_MAX));
  // Visits the buffers that were being filled when the target ended, and those that the shim left because its library
  // kept them and may still write to them. The records of such a buffer end at the first kind that is 0.
  size_t Salvage(const std::function<void(const GpuBatch&)>& visit);
  // Frees the memory except buffers that the library still has, after the shim has left. The shim keeps its mapping
  // while there are such buffers, and each capture would take as much memory again. Nothing can be read here
  // afterwards.
  void LetGo();

  // The launches that the shim records. Valid until the arena is moved from.
  GpuLaunchArea& launches() { return launches_; }

  GpuLibrary library() const;
  GpuCounts counts() const;
  // The pairs since the last call; the ring holds PP_GPU_CLOCKS of them.
  std::vector<GpuClockPair> NewClocks();
  const GpuArenaShape& shape() const { return shape_; }

 private:
  struct Unmapper {
    size_t size;
    void operator()(uint8_t* begin) const;
  };

  GpuArena(uint8_t* begin, const GpuArenaShape& shape);
  pp_gpu_arena& head() const { return *reinterpret_cast<pp_gpu_arena*>(memory_.get()); }
  pp_gpu_slot& slot(uint32_t index) const;
  std::span<uint8_t> buffer(uint32_t index) const;
  Result<void> ReadHead();
  std::string OtherTool() const;
  void Ring();
  void GiveBack(uint32_t index, uint64_t used);

  std::unique_ptr<uint8_t, Unmapper> memory_;
  GpuArenaShape shape_;
  GpuLaunchArea launches_;
  uint64_t clocks_seen_ = 0;
  uint64_t invalid_ = 0;
};

}  // namespace ptrace_prof
