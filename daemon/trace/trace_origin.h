// Where and when a trace was begun, and the ids made of it: what makes traces of several processes and hosts
// distinct, so that they may simply be concatenated.
//
// Plain data. Tests fill it in by hand to get the same bytes every time.
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

// Perfetto's track uuids. The same thread has the same in every trace of the host; its states are a track per
// trace, because slices of two traces would not nest.
uint64_t ProcessTrackUuid(const TraceOrigin& origin, Pid pid, Nanos start_time);
uint64_t ThreadTrackUuid(uint64_t process_uuid, Tid tid);
uint64_t StateTrackUuid(const TraceOrigin& origin, uint64_t thread_uuid);

// The first of the trace's packet sequence ids, the others count on from there. 28 bits, so that they take four
// bytes; a rare clash between concatenated traces does no harm, because every sequence begins by clearing its
// state.
uint32_t FirstSequenceId(const TraceOrigin& origin, Pid collector);
inline constexpr uint32_t kSequenceIdMask = (1u << 28) - 1;
inline constexpr uint32_t kLongSequenceId = 1u << 27;  // set in all of them, so that no other is equal

// Sequences of calls have millions of packets, each with its id: the first kShortSequenceIds of a writer take three
// bytes. They follow from the collector's pid, so that collectors of one host that run at the same time (and whose
// pids so lie near each other) never share one.
uint32_t ShortSequenceIds(const TraceOrigin& origin, Pid collector);  // the one before the first
inline constexpr uint32_t kShortSequenceIds = 127;

}  // namespace ptrace_prof
