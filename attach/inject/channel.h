// The collector's side of the memory that it shares with a traced target (attach/abi/channel.h).
//
// Take() checks what was handed over before it is mapped: a memfd of exactly the size that was asked for, sealed so
// that it can never shrink (no access of ours can fault, whatever the target does) nor be unsealed. The size of
// everything follows from what we asked for, never from what stands in the memory. Every page is touched before it is
// of use, so that it is charged to us and no event of the target pays for one. What the target writes is untrusted at
// any time. Owns the mapping; belongs to one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "attach/abi/channel.h"
#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "attach/inject/freed_code_reader.h"
#include "attach/inject/remote_writer.h"
#include "attach/inject/ring_reader.h"
#include "attach/proc/remote_memory.h"

namespace ptrace_prof {

struct ChannelShape {
  uint32_t rings = 0;    // 1..PP_MAX_RINGS
  uint32_t records = 0;  // of each ring; a power of two, PP_MIN_RING_RECORDS..PP_MAX_RING_RECORDS
  uint64_t nonce = 0;
  bool mutes = false;  // there is a table of code of which nothing is told

  uint64_t size() const { return PP_CHANNEL_SIZE(rings, uint64_t{records}, mutes); }
};

enum class ChannelState : uint32_t {
  kNone = PP_STATE_NONE,
  kReady = PP_STATE_READY,
  kLeft = PP_STATE_LEFT,
  kFailed = PP_STATE_FAILED,
};

// What of a code object is left out; the other events of it come as before.
enum class MutedEvents : uint8_t {
  kAll,
  kBegins,  // ends of calls that began before are still told
};

// What tells a code object from another one at its address, besides that: as it was read.
struct CodeFields {
  uint64_t name = 0;
  uint64_t filename = 0;
  int32_t first_line = 0;
};

// What an event costs the target at least, in ticks of the channel's clock; 0: not measured.
struct EventTicks {
  double frame = 0;
  double call = 0;
};

// What the stub says of its failure, in words.
Error StubFailure(uint32_t error, uint32_t step, int32_t number);

class Channel {
 public:
  // kUnavailable: not made ready yet, ask again. TRACER_LOST: this is not the memory that was asked for.
  // kFailedPrecondition and others: the stub could not begin, and says why.
  static Result<Channel> Take(const UniqueFd& file, const ChannelShape& shape);

  Channel(Channel&&) noexcept = default;
  Channel& operator=(Channel&&) noexcept = default;

  // Has every page there, charged to us. To be done before it is armed: it takes some microseconds a page.
  void TouchAll();

  ChannelState state() const;
  // Why the stub failed or left, in words. kOk: it did neither.
  Error Reason() const;

  // Until when the stub goes on without hearing from us, in units of the channel's clock.
  void RenewLease(uint64_t until);
  // The stub takes itself off at its next event.
  void AskToLeave();
  // The same of a channel that is not ours, where it is one.
  static void AskToLeave(const UniqueFd& file);
  // Events are told from now on. Call it once for each channel, while all threads of the target are stopped; the rings
  // then say on which side of that stop each thread is (pp_ring.last_unarmed; a word that was pending is 0).
  // kGone; TRACER_LOST: the page that the target names is not the one.
  Result<void> Arm(RemoteMemory& memory, RemoteWriter& writer);
  Result<void> Disarm(RemoteMemory& memory, RemoteWriter& writer);
  void SetModuleCode(size_t index, RemoteAddr code);
  // From about now on. False: there is no table, or no room in it for this one.
  bool Mute(RemoteAddr code, const CodeFields& fields, MutedEvents events);
  EventTicks event_ticks() const;

  std::vector<RingReader>& rings() { return rings_; }
  const std::vector<RingReader>& rings() const { return rings_; }
  FreedCodeReader& freed_code() { return freed_code_; }
  const ChannelShape& shape() const { return shape_; }
  RemoteAddr private_page() const { return private_page_; }  // mapped in the target as long as it is this program
  RemoteAddr leave_entry() const { return leave_entry_; }    // int(void*), for the target's queue of calls
  // The code object of the text that has loaded the stub, while it is there; null: it is over. It was called by another
  // one of ours.
  RemoteAddr own_text() const;
  uint32_t tool_id() const { return tool_id_; }
  uint64_t events_without_ring() const;
  uint32_t hooks_displaced() const;  // once it has left: threads with a profile function that is not ours

 private:
  struct Unmapper {
    size_t size;
    void operator()(uint8_t* begin) const;
  };

  Channel(uint8_t* begin, const ChannelShape& shape);
  pp_channel& head() const { return *reinterpret_cast<pp_channel*>(memory_.get()); }
  Result<void> ReadHead();
  Result<void> SetArmed(RemoteMemory& memory, RemoteWriter& writer, uint64_t armed);

  std::unique_ptr<uint8_t, Unmapper> memory_;
  ChannelShape shape_;
  std::vector<RingReader> rings_;
  FreedCodeReader freed_code_;
  // Read once, when the channel was ready.
  RemoteAddr private_page_;
  RemoteAddr leave_entry_;
  uint32_t tool_id_ = UINT32_MAX;
  size_t muted_ = 0;
};

}  // namespace ptrace_prof
