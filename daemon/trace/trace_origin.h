// The place and time at which a trace began, and the ids derived from them, which make traces of several processes and
// hosts distinct, so that they can be concatenated.
//
// Plain data. Tests set it by hand to get the same bytes every time.
#pragma once

#include <cstdint>
#include <string>

#include "attach/base/types.h"

namespace ptrace_prof {

struct TraceOrigin {
  std::string boot_id;  // of the kernel; different on every host and after every boot
  std::string host;
  uint64_t pid_namespace = 0;  // its inode: equal pids in two containers are not the same process
  Nanos monotonic;             // one instant on three clocks
  Nanos boottime;
  Nanos realtime;

  static TraceOrigin Here();
};

// Perfetto's track uuids. A thread has the same uuid in every trace of the host. Its states have a track per trace,
// because slices of two traces would not nest.
uint64_t ProcessTrackUuid(const TraceOrigin& origin, Pid pid, Nanos start_time);
uint64_t ThreadTrackUuid(uint64_t process_uuid, Tid tid);
uint64_t StateTrackUuid(const TraceOrigin& origin, uint64_t thread_uuid);

// The first packet sequence id of the trace; the others count up from it. 28 bits, so that they take four bytes. A rare
// clash between concatenated traces does no harm, because every sequence begins by clearing its state.
uint32_t FirstSequenceId(const TraceOrigin& origin, Pid collector);
inline constexpr uint32_t kSequenceIdMask = (1u << 28) - 1;
inline constexpr uint32_t kLongSequenceId = 1u << 27;  // set in all of them, to keep them apart from the short ids

// Sequences of calls have millions of packets, each with its sequence id. So the first kShortSequenceIds sequences of a
// writer get ids of three bytes. They are derived from the collector's pid, so that collectors that run on one host at
// the same time, with pids close to each other, never share one.
uint32_t ShortSequenceIds(const TraceOrigin& origin, Pid collector);  // the id before the first
inline constexpr uint32_t kShortSequenceIds = 127;

}  // namespace ptrace_prof
