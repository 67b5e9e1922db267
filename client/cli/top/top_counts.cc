#include "client/cli/top/top_counts.h"

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxSliceCells = 512 * 1024;

void AddCounters(const SampleBatch::Counters& more, SampleBatch::Counters& sum) {
  sum.samples += more.samples;
  for (size_t i = 0; i < sum.by_quality.size(); ++i) {
    sum.by_quality[i] += more.by_quality[i];
  }
  sum.thinned += more.thinned;
  sum.lost += more.lost;
  sum.missed += more.missed;
  sum.collector_cpu = sum.collector_cpu + more.collector_cpu;
}

void SubtractCounters(const SampleBatch::Counters& less, SampleBatch::Counters& sum) {
  sum.samples -= less.samples;
  for (size_t i = 0; i < sum.by_quality.size(); ++i) {
    sum.by_quality[i] -= less.by_quality[i];
  }
  sum.thinned -= less.thinned;
  sum.lost -= less.lost;
  sum.missed -= less.missed;
  sum.collector_cpu = sum.collector_cpu - less.collector_cpu;
}

}  // namespace

TopCell& TopTally::At(CellKey key) {
  if (const auto found = cells_.find(key); found != cells_.end()) {
    return found->second;
  }
  return cells_.size() < kMaxCells ? cells_[key] : cells_[KeyOf(kOtherThreads, PlaceOf(key))];
}

void TopTally::Add(const TopSlice& slice) {
  for (const auto& [key, cell] : slice.cells) {
    TopCell& sum = At(key);
    sum.self += cell.self;
    sum.total += cell.total;
  }
  AddCounters(slice.counters, counters_);
  if (slice.counters.actual_rate_hz > 0) {
    counters_.actual_rate_hz = slice.counters.actual_rate_hz;
  }
  span_ = span_ + (slice.end - slice.begin);
}

void TopTally::Subtract(const TopSlice& slice) {
  for (const auto& [key, cell] : slice.cells) {
    TopCell& sum = At(key);
    sum.self -= std::min(cell.self, sum.self);
    sum.total -= std::min(cell.total, sum.total);
    if (sum.self == 0 && sum.total == 0) {
      cells_.erase(key);
    }
  }
  SubtractCounters(slice.counters, counters_);
  span_ = span_ - (slice.end - slice.begin);
}

void TopTally::Fold(const std::vector<bool>& gone) {
  std::vector<std::pair<CellKey, TopCell>> folded;
  std::erase_if(cells_, [&](const auto& entry) {
    const uint32_t thread = ThreadOf(entry.first).value;
    if (thread >= gone.size() || !gone[thread]) {
      return false;
    }
    folded.emplace_back(KeyOf(kOtherThreads, PlaceOf(entry.first)), entry.second);
    return true;
  });
  for (const auto& [key, cell] : folded) {
    TopCell& sum = cells_[key];
    sum.self += cell.self;
    sum.total += cell.total;
  }
}

TopNames::TopNames(const Limits& limits) : limits_(limits), places_(kReservedPlaces), threads_(1) {
  threads_[0].name = "[other threads]";
  for (const PlaceLevel level : {PlaceLevel::kFunction, PlaceLevel::kLine, PlaceLevel::kSourceLine}) {
    other_[static_cast<size_t>(level)] = Place(level, "[other code]", "", 0);
    no_code_[static_cast<size_t>(level)] = Place(level, "[no Python code]", "", 0);
  }
}

uint32_t TopNames::Text(const std::string& text) {
  const auto [entry, fresh] = texts_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  text_bytes_ += fresh ? text.size() : 0;
  return entry->second;
}

PlaceId TopNames::Place(PlaceLevel level, const std::string& function, const std::string& file, int32_t line) {
  if (places_.size() >= limits_.places || text_bytes_ > limits_.text_bytes) {
    const auto known_function = texts_.find(function);
    const auto known_file = texts_.find(file);
    if (known_function == texts_.end() || known_file == texts_.end()) {
      return other_[static_cast<size_t>(level)];
    }
    const auto known = place_ids_.find({level, known_function->second, known_file->second, line});
    return known != place_ids_.end() ? known->second : other_[static_cast<size_t>(level)];
  }
  const PlaceId next(static_cast<uint32_t>(places_.size()));
  const auto [entry, fresh] = place_ids_.try_emplace({level, Text(function), Text(file), line}, next);
  if (fresh) {
    places_.push_back({.level = level, .function = function, .file = file, .line = line});
  }
  return entry->second;
}

TopNames::FramePlaces TopNames::PlacesOf(const SampleBatch& batch, const SampleBatch::Frame& frame) {
  const std::string& function = batch.strings[frame.function];
  const std::string& file = batch.strings[frame.file];
  return {.function = Place(PlaceLevel::kFunction, function, file, frame.first_line),
          .line = Place(PlaceLevel::kLine, function, file, frame.line),
          .source_line = Place(PlaceLevel::kSourceLine, "", file, frame.line)};
}

ThreadIndex TopNames::Thread(const SampleBatch::Thread& thread) {
  const std::pair key(thread.pid, thread.tid);
  auto known = thread_index_.find(key);
  if (known == thread_index_.end()) {
    if (threads_full()) {
      return kOtherThreads;
    }
    ThreadIndex index(static_cast<uint32_t>(threads_.size()));
    if (!free_threads_.empty()) {
      index = free_threads_.back();
      free_threads_.pop_back();
    } else {
      threads_.emplace_back();
    }
    known = thread_index_.emplace(key, index).first;
  }
  threads_[known->second.value] = {.pid = thread.pid,
                                   .tid = thread.tid,
                                   .name = thread.name,
                                   .is_main = thread.is_main,
                                   .state = thread.state,
                                   .holds_gil = thread.holds_gil};
  return known->second;
}

void TopNames::Free(const std::vector<bool>& gone) {
  for (auto at = thread_index_.begin(); at != thread_index_.end();) {
    const bool freed = at->second.value < gone.size() && gone[at->second.value];
    if (freed) {
      free_threads_.push_back(at->second);
      threads_[at->second.value] = {};
    }
    at = freed ? thread_index_.erase(at) : std::next(at);
  }
}

void TopNames::LearnProcesses(const SampleBatch& batch) {
  if (processes_.size() + batch.processes.size() > limits_.processes) {
    processes_.clear();  // active processes come again with a later batch
  }
  for (const SampleBatch::Process& process : batch.processes) {
    processes_[process.pid] = process;
  }
}

// Converts one batch to cells. A place counts once per stack, however often the stack contains it.
class TopNames::SliceMaker {
 public:
  SliceMaker(TopNames& names, const SampleBatch& batch) : names_(names), batch_(batch) {
    for (const SampleBatch::Frame& frame : batch.frames) {
      places_.push_back(names.PlacesOf(batch, frame));
    }
  }

  void Add(const SampleBatch::Thread& thread) {
    const ThreadIndex index = names_.Thread(thread);
    for (const SampleBatch::StackCount& one : thread.stacks) {
      AddStack(index, one);
    }
    if (thread.gil_time.value > 0) {
      At(index, kGilTime).total += static_cast<uint64_t>(thread.gil_time.value);
    }
  }

  std::vector<std::pair<CellKey, TopCell>> cells() const { return {cells_.begin(), cells_.end()}; }

 private:
  TopCell& At(ThreadIndex thread, PlaceId place) {
    const CellKey key = KeyOf(thread, place);
    if (cells_.size() < kMaxSliceCells || cells_.contains(key)) {
      return cells_[key];
    }
    const PlaceLevel level = names_.place(place).level;
    return cells_[KeyOf(kOtherThreads, level == PlaceLevel::kNone ? place : names_.other_[static_cast<size_t>(level)])];
  }

  void AddStack(ThreadIndex thread, const SampleBatch::StackCount& one) {
    At(thread, kWholeThread).total += one.count;
    ++stack_number_;
    bool leaf = true;
    const auto count = [&](PlaceId place) {
      if (place.value >= in_stack_.size()) {
        in_stack_.resize(names_.places_.size());
      }
      const bool again = in_stack_[place.value] == stack_number_;
      in_stack_[place.value] = stack_number_;
      if (leaf || !again) {
        TopCell& cell = At(thread, place);
        cell.self += leaf ? one.count : 0;
        cell.total += again ? 0 : one.count;
      }
    };
    batch_.ForEachFrame(one.stack, [&](const SampleBatch::Frame& frame) {
      const FramePlaces& places = places_[static_cast<size_t>(&frame - batch_.frames.data())];
      count(places.function);
      count(places.line);
      count(places.source_line);
      leaf = false;
    });
    if (leaf) {
      for (const PlaceId place : names_.no_code_) {
        count(place);
      }
    }
  }

  TopNames& names_;
  const SampleBatch& batch_;
  std::vector<FramePlaces> places_;  // by frame number in the batch
  std::vector<uint64_t> in_stack_;   // by place: the last stack that contained it
  uint64_t stack_number_ = 0;
  std::unordered_map<CellKey, TopCell> cells_;
};

TopSlice TopNames::Slice(const SampleBatch& batch) {
  LearnProcesses(batch);
  SliceMaker maker(*this, batch);
  for (const SampleBatch::Thread& thread : batch.threads) {
    maker.Add(thread);
  }
  return {.begin = batch.begin, .end = batch.end, .cells = maker.cells(), .counters = batch.counters};
}

}  // namespace ptrace_prof
