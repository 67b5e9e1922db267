// The sums behind `top`: how often each place in the code was seen in each thread, over any set of batches.
//
// TopNames gives permanent numbers to the places and threads of batches. TopSlice is one batch in these numbers.
// TopTally is a sum of slices; slices can be added and subtracted. All of them are bounded: the excess is counted under
// a name that says so. Pure data, single-threaded; all text comes from the target.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/trace/read/sample_batch.h"

namespace ptrace_prof {

using PlaceId = StrongId<struct PlaceIdTag, uint32_t>;
using ThreadIndex = StrongId<struct ThreadIndexTag, uint32_t>;

// Special places, which are not in the code.
inline constexpr PlaceId kWholeThread{0};  // total: all samples of the thread
inline constexpr PlaceId kGilTime{1};      // total: nanoseconds for which the thread held the GIL
inline constexpr size_t kReservedPlaces = 2;
// Collects the samples of threads that got no number.
inline constexpr ThreadIndex kOtherThreads{0};

enum class PlaceLevel : uint8_t { kFunction, kLine, kSourceLine, kNone };

struct TopPlace {
  PlaceLevel level = PlaceLevel::kNone;
  std::string function;  // empty for kSourceLine
  std::string file;
  int32_t line = 0;  // kFunction: line of the definition
};

struct TopThread {
  Pid pid;
  Tid tid;
  std::string name;
  bool is_main = false;
  ThreadState state = ThreadState::kUnknown;
  bool holds_gil = false;
};

struct TopCell {
  uint64_t self = 0;
  uint64_t total = 0;
};

// A thread (high half) and a place (low half).
using CellKey = uint64_t;
constexpr CellKey KeyOf(ThreadIndex thread, PlaceId place) { return (uint64_t{thread.value} << 32) | place.value; }
constexpr ThreadIndex ThreadOf(CellKey key) { return ThreadIndex(static_cast<uint32_t>(key >> 32)); }
constexpr PlaceId PlaceOf(CellKey key) { return PlaceId(static_cast<uint32_t>(key)); }

struct TopSlice {
  Nanos begin;
  Nanos end;
  std::vector<std::pair<CellKey, TopCell>> cells;
  SampleBatch::Counters counters;
};

class TopTally {
 public:
  static constexpr size_t kMaxCells = 1 << 20;

  void Add(const TopSlice& slice);
  void Subtract(const TopSlice& slice);
  // Moves the counts of these threads to kOtherThreads.
  void Fold(const std::vector<bool>& gone);

  const std::unordered_map<CellKey, TopCell>& cells() const { return cells_; }
  const SampleBatch::Counters& counters() const { return counters_; }
  // Samples in the cells. Bounded, because the counters of a hostile daemon may be inconsistent.
  uint64_t samples() const { return counters_.samples - std::min(counters_.thinned, counters_.samples); }
  Nanos span() const { return span_; }
  bool Has(ThreadIndex thread) const { return cells_.contains(KeyOf(thread, kWholeThread)); }

 private:
  TopCell& At(CellKey key);

  std::unordered_map<CellKey, TopCell> cells_;
  SampleBatch::Counters counters_;
  Nanos span_;
};

class TopNames {
 public:
  struct Limits {
    size_t places = 300'000;
    size_t text_bytes = 64 << 20;
    size_t threads = 4096;
    size_t processes = 8192;
  };
  TopNames() : TopNames(Limits{}) {}
  explicit TopNames(const Limits& limits);

  // The batch in permanent numbers. It must be Valid().
  TopSlice Slice(const SampleBatch& batch);

  const TopPlace& place(PlaceId id) const { return places_[id.value]; }
  const std::vector<TopThread>& threads() const { return threads_; }
  const std::map<Pid, SampleBatch::Process>& processes() const { return processes_; }

  bool threads_full() const { return thread_index_.size() + 1 >= limits_.threads; }
  // Releases these numbers for reuse.
  void Free(const std::vector<bool>& gone);

 private:
  using PlaceKey = std::tuple<PlaceLevel, uint32_t, uint32_t, int32_t>;
  struct FramePlaces {
    PlaceId function, line, source_line;
  };
  class SliceMaker;

  FramePlaces PlacesOf(const SampleBatch& batch, const SampleBatch::Frame& frame);
  PlaceId Place(PlaceLevel level, const std::string& function, const std::string& file, int32_t line);
  uint32_t Text(const std::string& text);
  ThreadIndex Thread(const SampleBatch::Thread& thread);
  void LearnProcesses(const SampleBatch& batch);

  const Limits limits_;
  std::vector<TopPlace> places_;
  std::map<PlaceKey, PlaceId> place_ids_;
  std::unordered_map<std::string, uint32_t> texts_;
  size_t text_bytes_ = 0;
  std::vector<TopThread> threads_;
  std::map<std::pair<Pid, Tid>, ThreadIndex> thread_index_;
  std::vector<ThreadIndex> free_threads_;
  std::map<Pid, SampleBatch::Process> processes_;
  PlaceId other_[3];    // by level: code that got no number
  PlaceId no_code_[3];  // by level: a thread without a Python frame
};

}  // namespace ptrace_prof
