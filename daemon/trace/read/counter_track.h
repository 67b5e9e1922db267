// Counters as Perfetto's counter tracks: encoding for TraceWriter, and decoding for TraceReader.
//
// There is a track for each group (a GPU), and below it one for each counter. Encoders append fields of a
// TrackDescriptor, an Extension or a TrackEvent. CounterTracks decodes, and is owned by the reader. Its input is
// hostile: values of unknown counters are refused, and the number of counters is limited.
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
void EncodeCounter(const CounterInfo& info, WireEncoder& out);  // the fields that Perfetto's descriptor lacks
void EncodeCount(uint64_t uuid, int64_t value, WireEncoder& out);

class CounterTracks {
 public:
  static constexpr size_t kMost = 16 * 1024;

  // A track descriptor with Extension::counter beside it.
  void OnDescriptor(uint64_t uuid, std::string_view counter, ReaderVocabulary& vocabulary, TraceVisitor& visitor);
  // False: the event is no value of a known counter.
  bool OnEvent(std::string_view event, Nanos when, TraceVisitor& visitor);

 private:
  std::unordered_map<uint64_t, CounterId> ids_;  // by the uuid of their track
  std::vector<CounterInfo> infos_;
};

}  // namespace ptrace_prof
