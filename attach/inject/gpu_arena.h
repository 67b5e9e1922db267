// The collector's side of the memory that it shares with a target whose GPU is recorded (attach/abi/gpu_arena.h).
//
// Take() checks what was handed over before it is mapped, as Channel does: a memfd of exactly the size that was asked
// for, sealed so that it can never shrink. The size and place of everything follow from what we asked for, never from
// what stands in the memory. It knows nothing of the records: it hands them out as bytes, where they lie, and gives the
// buffers back zeroed. Owns the mapping; belongs to one thread.
//
//   kAttaching ──► kRecording ──► kDetaching ──► kLeft        kAttaching ──► kFailed
//       └──────────────────────────────────────────┘ (called off)
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
  uint32_t stack_bytes = 0;  // for stacks of launches, a multiple of the page, at most PP_GPU_MAX_STACK_BYTES; 0: none

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

// The same moment on the target's CLOCK_REALTIME and CLOCK_MONOTONIC, known to within `width` (0: not told).
struct GpuClockPair {
  Nanos realtime;
  Nanos monotonic;
  Nanos width;
};

// A buffer that came back. The bytes lie in shared memory: a target may change them while they are read, so each field
// is to be copied once, and nothing to be bounded by what stands there.
struct GpuBatch {
  std::span<const uint8_t> records;
  uint64_t sequence = 0;  // in the order in which they came back, from 1; 0: of Salvage
  GpuClockPair clock;     // when it came back; zero: of Salvage
};

struct GpuCounts {
  uint64_t handed_out = 0;   // buffers, as all of these up to `invalid`
  uint64_t declined = 0;     // asked for while none was free: records were lost
  uint64_t discarded = 0;    // the same, where what was written had to be thrown away
  uint64_t completed = 0;    // came back
  uint64_t invalid = 0;      // came back making no sense, and were left out
  uint64_t dropped = 0;      // records that the library lost
  uint64_t valid_bytes = 0;  // of records
  uint64_t captures = 0;     // of CUDA graphs that go on
  // Launches whose stacks were not taken: too fast after one another; and for want of room.
  uint64_t stacks_refused = 0;
  uint64_t stacks_lost = 0;
};

// What is known of the library once it records.
struct GpuLibrary {
  uint32_t backend = 0;      // pp_gpu_backend_id
  uint32_t version = 0;      // as cuptiGetVersion says
  uint32_t record_time = 0;  // pp_gpu_time
  Nanos recording_since;     // on CLOCK_MONOTONIC: what was called before may be recorded in part
  bool system_thread_ids = false;
  std::array<uint16_t, PP_GPU_KINDS> strides{};  // bytes to the next record of each kind; 0: there is none
  // What switching on each kind returned; UINT16_MAX: it was not tried.
  std::array<uint16_t, PP_GPU_KINDS> kind_results{};
};

// Why CUPTI stays in a process that was left so (pp_gpu_leave_how), in words; "" where it does not.
std::string_view GpuLeftWords(uint32_t how);

enum class GpuLeave : uint8_t {
  kWhenDone,  // once what was launched so far has been recorded
  kNow,       // without waiting for that, and CUPTI is not taken down
  kUp,        // as the first, and CUPTI is not taken down
};

class GpuArena {
 public:
  // kUnavailable: not made yet, ask again. TRACER_LOST: this is not the memory that was asked for.
  static Result<GpuArena> Take(const UniqueFd& file, const GpuArenaShape& shape);

  GpuArena(GpuArena&&) noexcept = default;
  GpuArena& operator=(GpuArena&&) noexcept = default;

  // Has every page there, charged to us, so that no launch of the target pays for one. Takes some milliseconds.
  void TouchAll();

  GpuState state() const;
  // What it is doing, in words; how it was left, once it was.
  std::string_view step() const;
  uint32_t leave_cause() const;  // pp_gpu_leave_cause
  uint32_t leave_how() const;    // pp_gpu_leave_how
  // Why it failed, or left without being asked. kOk: it did neither.
  Error Failure(Pid pid) const;

  // We are alive: to be called at least every third of pp_gpu_boot.lease.
  void RenewLease();
  // In state kLeft, buffers may still be there to be drained.
  void AskToLeave(GpuLeave how = GpuLeave::kWhenDone);
  // The same of an arena that is not ours, where it is one.
  static void AskToLeave(const UniqueFd& file);
  // At once instead of with the next turn (pp_gpu_boot.flush_millis).
  void FlushNow();

  // Those that have come back, on CLOCK_MONOTONIC not after `until`, in that order, at most `limit`; each is zeroed and
  // free again once `visit` returns. How many there were.
  size_t Drain(const std::function<void(const GpuBatch&)>& visit, size_t limit = SIZE_MAX,
               Nanos until = Nanos(INT64_MAX));
  // What was being written when the target ended, or in buffers that the shim left behind as its library kept them:
  // that may still write. Such a buffer ends where the first kind is 0.
  size_t Salvage(const std::function<void(const GpuBatch&)>& visit);
  // The memory of all but buffers that the library still has, of a shim that has left: the shim keeps what it mapped as
  // long as there are such, and each capture would take as much again. Nothing can be read here any more.
  void LetGo();

  // What the shim tells of launches. As long as the arena is not moved from.
  GpuLaunchArea& launches() { return launches_; }

  GpuLibrary library() const;
  GpuCounts counts() const;
  // Those that came since the last time; the ring holds PP_GPU_CLOCKS of them.
  std::vector<GpuClockPair> NewClocks();
  Tid control_thread() const { return control_thread_; }  // as the target sees it
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
  Tid control_thread_;
  uint64_t clocks_seen_ = 0;
  uint64_t invalid_ = 0;
};

}  // namespace ptrace_prof
