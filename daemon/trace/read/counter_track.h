// Counters as Perfetto's counter tracks: both what TraceWriter writes and how TraceReader knows them again.
//
// A track for each group (a GPU), below it one for each counter. Writing: fields of a TrackDescriptor, an Extension or
// a TrackEvent, appended to the caller's encoder. Reading: CounterTracks, owned by the reader; input is hostile: what
// names no known counter is refused, and there is a limit to how many there are.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/trace/counter.h"
#include "daemon/trace/read/reader_vocabulary.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/trace_origin.h"
#include "daemon/trace/wire_encoder.h"

namespace ptrace_prof {

uint64_t CounterGroupUuid(const TraceOrigin& origin, std::string_view group);
uint64_t CounterTrackUuid(uint64_t group_uuid, std::string_view name);

void EncodeGroupDescriptor(uint64_t uuid, std::string_view name, WireEncoder& out);
void EncodeCounterDescriptor(uint64_t uuid, uint64_t group_uuid, const CounterInfo& info, WireEncoder& out);
void EncodeCounter(const CounterInfo& info, WireEncoder& out);  // what Perfetto's descriptor has no field for
void EncodeCount(uint64_t uuid, int64_t value, WireEncoder& out);

class CounterTracks {
 public:
  static constexpr size_t kMost = 16 * 1024;

  // A track descriptor with Extension::counter beside it.
  void OnDescriptor(uint64_t uuid, std::string_view counter, ReaderVocabulary& vocabulary, TraceVisitor& visitor);
  // False where the event is no value of a counter that is known.
  bool OnEvent(std::string_view event, Nanos when, TraceVisitor& visitor);

 private:
  std::unordered_map<uint64_t, CounterId> ids_;  // by the uuid of their track
  std::vector<CounterInfo> infos_;
};

}  // namespace ptrace_prof
