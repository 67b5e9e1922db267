// Events of Chrome's trace JSON as PyTorch's profiler (Kineto) writes them: complete events with times in microseconds,
// up to a limit.
//
// Part of the chrome format, which owns the surrounding JSON; the users (python_calls.h, kineto_gpu.h) supply the
// content. Times count from Kineto's base, the time of day rounded down to whole trimesters, so that ranks on several
// hosts share it. Next to samples, whose format is unchanged, times are CLOCK_MONOTONIC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/export/json_output.h"
#include "daemon/export/recording.h"

namespace ptrace_prof {

struct KinetoPlace {
  int64_t pid = 0;
  int64_t tid = 0;
};

class KinetoWriter {
 public:
  // Both must outlive it. Writes at most `max_events` events.
  KinetoWriter(const Recording& recording, JsonOutput& json, uint64_t max_events)
      : recording_(recording), json_(json), max_events_(max_events) {}

  // Reserves room for one more event; if there is none, keeps since when.
  bool TakeRoom(Nanos when);
  std::optional<Nanos> capped_at() const { return capped_at_; }

  // Begins an event with its time: "args" may follow, then EndObject().
  void Start(const KinetoPlace& place, std::string_view category, std::string_view name, Nanos begin, Nanos end);
  // Begins an instant of a thread: the same may follow.
  void StartMark(const KinetoPlace& place, std::string_view category, std::string_view name, Nanos when);
  // One end of an arrow: phase "s" or "f".
  void Flow(const KinetoPlace& place, std::string_view phase, std::string_view name, uint64_t id, Nanos when);
  // "process_name" and "thread_name", and their positions ("process_sort_index", "thread_sort_index").
  void Name(const KinetoPlace& place, std::string_view what, std::string_view name);
  void SortIndex(const KinetoPlace& place, std::string_view what, int64_t index);
  void WriteBase();  // members of the file's outermost object

 private:
  void WriteMicros(std::string_view member, Nanos time);
  Nanos SinceBase(Nanos time);
  void StartEvent(const KinetoPlace& place, std::string_view phase);

  const Recording& recording_;
  JsonOutput& json_;
  const uint64_t max_events_;
  uint64_t events_ = 0;
  std::optional<Nanos> base_;  // subtracted from CLOCK_MONOTONIC
  std::optional<Nanos> capped_at_;
};

}  // namespace ptrace_prof
