// A sequence of GPU events in a trace: turns its track events into operations of a queue, or into calls, annotations
// and operators of a thread.
//
// Owned by TraceReader, one per sequence. Hostile input: names and texts must have ascending ids, as our writer assigns
// them, and the vocabulary bounds them. An end without a begin is counted and skipped, and unknown marks are ignored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "daemon/trace/gpu.h"
#include "daemon/trace/read/reader_vocabulary.h"
#include "daemon/trace/read/sequence_tables.h"
#include "daemon/trace/read/trace_reader.h"

namespace ptrace_prof {

class GpuTrack {
 public:
  explicit GpuTrack(ReaderVocabulary& vocabulary) : vocabulary_(vocabulary) {}
  ~GpuTrack() { Clear(); }
  GpuTrack(const GpuTrack&) = delete;
  GpuTrack& operator=(const GpuTrack&) = delete;

  // Sets the queue or thread of all following events; their times count from `base`.
  void Assign(GpuQueueId queue, Nanos base);
  void Assign(TrackId thread, Nanos base);
  bool is_assigned() const { return kind_ != Kind::kNone; }

  // Takes an InternedData message and the Extension of the same packet, either of which may be empty. Call after
  // `tables`.
  void Define(std::string_view interned, std::string_view extension, const SequenceTables& tables);
  void OnTrackEvent(std::string_view message, uint64_t timestamp, TraceVisitor& visitor);
  void Clear();

 private:
  enum class Kind : uint8_t { kNone, kQueue, kThread };
  struct Event;
  using Text = std::variant<std::monostate, GpuShape, StackId, std::string_view, std::unique_ptr<OperatorInputs>>;

  void DefineName(std::string_view message);
  void DefineText(std::string_view message, const SequenceTables& tables);
  const Text* TextOf(uint64_t iid) const;
  void Begin(const Event& event, Nanos when);
  void Mark(const Event& event, Nanos when, TraceVisitor& visitor);
  StackId StackOf(const Event& event) const;
  GpuApiCall CallOf(const Event& event, Nanos when) const;
  GpuOperation OperationOf(const Event& event, Nanos when) const;
  GpuAnnotation AnnotationOf(const Event& event, Nanos when) const;
  Operator OperatorOf(const Event& event, Nanos when) const;
  Allocation AllocationOf(const Event& event, Nanos when) const;
  void End(Nanos when, TraceVisitor& visitor);

  ReaderVocabulary& vocabulary_;
  Kind kind_ = Kind::kNone;
  GpuQueueId queue_;
  TrackId thread_;
  Nanos base_;
  std::vector<std::string_view> names_;  // [iid - 1]
  std::vector<Text> texts_;              // those after the fixed texts
  size_t charged_ = 0;
  std::variant<std::monostate, GpuOperation, GpuApiCall, GpuAnnotation, Operator> open_;
  std::vector<uint64_t> storages_;  // of an Operator in open_
};

}  // namespace ptrace_prof
