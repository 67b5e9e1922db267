// The exact calls of one thread in a trace: turns the track events of its sequence into begins and ends, each with the
// stack below it.
//
// Owned by TraceReader, one per sequence. Hostile input: an end without a begin is counted and skipped, and unknown
// marks are ignored. A call path is a stack of the vocabulary, so an open path of any depth takes no memory here. If
// the table of stacks is full, deeper calls are skipped together with their ends.
#pragma once

#include <cstdint>
#include <string_view>

#include "daemon/trace/call.h"
#include "daemon/trace/read/reader_vocabulary.h"
#include "daemon/trace/read/sequence_tables.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class CallTrack {
 public:
  // Sets the thread of all following events.
  void Assign(TrackId track);
  bool is_assigned() const { return is_assigned_; }

  void OnTrackEvent(std::string_view message, Nanos when, const SequenceTables& tables, ReaderVocabulary& vocabulary,
                    TraceVisitor& visitor);

 private:
  struct Event;

  void Begin(const Event& event, Nanos when, const SequenceTables& tables, ReaderVocabulary& vocabulary,
             TraceVisitor& visitor);
  void End(const Event& event, Nanos when, ReaderVocabulary& vocabulary, TraceVisitor& visitor);
  void OnStep(const Event& event, Nanos when, TraceVisitor& visitor);

  bool is_assigned_ = false;
  bool step_open_ = false;
  TrackId track_;
  StackId open_ = kEmptyStack;
  uint64_t step_uuid_ = 0;  // the track of steps; any other track besides the thread's own is for deep calls
  uint64_t refused_ = 0;    // open calls above open_ that have no stack
  Nanos last_;
  Nanos step_begin_;
  uint64_t step_number_ = 0;
};

}  // namespace ptrace_prof
