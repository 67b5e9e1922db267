// The collector's side of the memory that it shares with a traced target (attach/abi/channel.h).
//
// Take() checks the file from the target before mapping it. It must be a memfd of exactly the requested size, sealed so
// that it can never shrink (our accesses cannot fault, whatever the target does) nor be unsealed. All sizes follow from
// the request, never from the content of the memory. Every page is touched before use, so that it is charged to the
// collector and no event of the target pays for it. What the target writes is always untrusted. Owns the mapping;
// belongs to one thread.
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
  bool mutes = false;  // there is a table of code whose events are left out

  uint64_t size() const { return PP_CHANNEL_SIZE(rings, uint64_t{records}, mutes); }
};

enum class ChannelState : uint32_t {
  kNone = PP_STATE_NONE,
  kReady = PP_STATE_READY,
  kLeft = PP_STATE_LEFT,
  kFailed = PP_STATE_FAILED,
};

// Which events of a code object are left out.
enum class MutedEvents : uint8_t {
  kAll,
  kBegins,  // ends of calls that began before are still recorded
};

// The fields that distinguish a code object from a later one at its address, as they were read.
struct CodeFields {
  uint64_t name = 0;
  uint64_t filename = 0;
  int32_t first_line = 0;
};

// The minimal cost of an event to the target, in ticks of the channel's clock; 0: not measured.
struct EventTicks {
  double frame = 0;
  double call = 0;
};

// Writes pp_private.armed. Errors: as Channel::Arm.
Result<void> SetArmedIn(RemoteAddr private_page, RemoteMemory& memory, RemoteWriter& writer, bool armed);

// The stub's failure as an error message.
Error StubFailure(uint32_t error, uint32_t step, int32_t number);

class Channel {
 public:
  // kUnavailable: not ready yet, try again. TRACER_LOST: not the requested memory. kFailedPrecondition and others: the
  // stub could not begin, with its reason.
  static Result<Channel> Take(const UniqueFd& file, const ChannelShape& shape);

  Channel(Channel&&) noexcept = default;
  Channel& operator=(Channel&&) noexcept = default;

  // Makes every page present, charged to us. Call it before arming: it takes some microseconds per page.
  void TouchAll();

  ChannelState state() const;
  // The reason why the stub failed or left. kOk: it did neither.
  Error Reason() const;

  // Sets the time until which the stub continues without hearing from us, in units of the channel's clock.
  void RenewLease(uint64_t until);
  // The stub removes itself at its next event.
  void AskToLeave();
  // The same for a file that may be another collector's channel.
  static void AskToLeave(const UniqueFd& file);
  // Starts recording events. Call it once for each channel, while all threads of the target are stopped. The rings then
  // say on which side of that stop each thread is (pp_ring.last_unarmed; a pending word is 0). Errors: kGone;
  // TRACER_LOST: the page that the target names is not its private page.
  Result<void> Arm(RemoteMemory& memory, RemoteWriter& writer);
  Result<void> Disarm(RemoteMemory& memory, RemoteWriter& writer);
  void WantSelf(size_t index, RemoteAddr code);
  // Takes effect a moment later. Returns false if there is no table, or no room in it for this code.
  bool Mute(RemoteAddr code, const CodeFields& fields, MutedEvents events);
  EventTicks event_ticks() const;

  std::vector<RingReader>& rings() { return rings_; }
  const std::vector<RingReader>& rings() const { return rings_; }
  FreedCodeReader& freed_code() { return freed_code_; }
  const ChannelShape& shape() const { return shape_; }
  RemoteAddr private_page() const { return private_page_; }  // stays mapped in the target until it ends or calls exec
  RemoteAddr leave_entry() const { return leave_entry_; }    // int(void*), for the target's queue of pending calls
  // The code object of the text that loaded the stub, while it exists; null: that text has ended. Another code object
  // of ours called it.
  RemoteAddr own_text() const;
  uint32_t tool_id() const { return tool_id_; }
  uint64_t events_without_ring() const;
  uint32_t hooks_displaced() const;  // after the stub has left: threads with a profile function that is not ours

 private:
  struct Unmapper {
    size_t size;
    void operator()(uint8_t* begin) const;
  };

  Channel(uint8_t* begin, const ChannelShape& shape);
  pp_channel& head() const { return *reinterpret_cast<pp_channel*>(memory_.get()); }
  Result<void> ReadHead();

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
