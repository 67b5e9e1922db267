#include "daemon/trace/read/sample_batcher.h"

#include <algorithm>
#include <functional>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxCommand = 256;
constexpr size_t kMaxProcessName = 256;
constexpr size_t kMaxFrameText = 4096;       // of a function's or file's name
constexpr size_t kReaderStacksPerStack = 4;  // the reader distinguishes frames by column, a batch does not

uint64_t HashOf(const SampleBatch::Frame& frame) {
  const uint64_t names = MixBits(PackBits(frame.function, frame.file));
  const uint64_t lines = PackBits(static_cast<uint32_t>(frame.line), static_cast<uint32_t>(frame.first_line));
  return MixBits(names ^ lines ^ (static_cast<uint64_t>(frame.kind) << 31));
}

std::string CommandOf(const ProcessInfo& process) {
  std::string command;
  for (const std::string& word : process.cmdline) {
    if (command.size() >= kMaxCommand) {
      break;
    }
    command += (command.empty() ? "" : " ") + word.substr(0, kMaxCommand);
  }
  command.resize(std::min(command.size(), kMaxCommand));
  return command;
}

}  // namespace

SampleBatcher::SampleBatcher(const Limits& limits) : limits_(limits), reader_(*this) { Clear(MonotonicNow()); }

SampleBatch SampleBatcher::Take(Nanos now) {
  FinishThreads();
  FinishCounters();
  batch_.end = now;
  SampleBatch taken = std::move(batch_);
  Clear(now);
  ForgetThreads();
  return taken;
}

void SampleBatcher::Clear(Nanos begin) {
  batch_ = {};
  batch_.begin = begin;
  ++batch_number_;
  string_bytes_ = 0;
  stack_numbers_.clear();
  frame_numbers_.clear();
  counted_.clear();
  for (IdIndex* index : {&string_index_, &frame_index_, &stack_index_}) {
    index->Clear();
  }
}

void SampleBatcher::OnProcess(const ProcessInfo& process) {
  if (processes_.size() >= limits_.known_processes && !processes_.contains(process.pid)) {
    // Processes without activity in this batch may have ended.
    std::erase_if(processes_, [&](const auto& entry) { return entry.second.listed != batch_number_; });
    if (processes_.size() >= limits_.known_processes) {
      return;  // its threads are still listed, with its pid
    }
  }
  KnownProcess& known = processes_[process.pid];
  known.process = {.pid = process.pid,
                   .parent_pid = process.parent_pid,
                   .name = process.name.substr(0, kMaxProcessName),
                   .command = CommandOf(process),
                   .python = process.python.substr(0, kMaxProcessName)};
  List(known);
  batch_.processes[known.index] = known.process;
}

void SampleBatcher::List(KnownProcess& known) {
  if (known.listed != batch_number_) {
    known.listed = batch_number_;
    known.index = batch_.processes.size();
    batch_.processes.push_back(known.process);
  }
}

void SampleBatcher::OnThread(TrackId track, const ThreadInfo& thread) {
  if (threads_.size() >= 2 * limits_.known_threads) {
    ForgetThreads();
    if (threads_.size() >= 2 * limits_.known_threads && !threads_.contains(track)) {
      return;  // its samples will count as thinned
    }
  }
  KnownThread& known = threads_[track];
  known.info = thread;
  known.seen = batch_number_;
  if (known.index_plus_one != 0) {
    batch_.threads[known.index_plus_one - 1].name = thread.name;
  }
}

SampleBatch::Thread& SampleBatcher::InBatch(KnownThread& thread) {
  thread.seen = batch_number_;
  if (thread.index_plus_one == 0) {
    batch_.threads.push_back({.pid = thread.info.pid,
                              .tid = thread.info.tid,
                              .name = thread.info.name,
                              .is_main = thread.info.is_main,
                              .stacks = {}});
    thread.index_plus_one = static_cast<uint32_t>(batch_.threads.size());
    if (const auto process = processes_.find(thread.info.pid); process != processes_.end()) {
      List(process->second);
    }
  }
  return batch_.threads[thread.index_plus_one - 1];
}

void SampleBatcher::OnSample(TrackId track, Nanos when, StackId stack, SampleQuality quality) {
  latest_ = std::max(latest_, when);
  ++samples_;
  ++batch_.counters.samples;
  ++batch_.counters.by_quality[static_cast<size_t>(quality)];
  const auto thread = threads_.find(track);
  if (thread == threads_.end() || !Count(thread->second, stack)) {
    ++batch_.counters.thinned;
  }
}

bool SampleBatcher::Count(KnownThread& known, StackId stack) {
  const std::optional<uint32_t> number = StackInBatch(stack);
  if (!number.has_value()) {
    return false;
  }
  SampleBatch::Thread& thread = InBatch(known);
  const uint64_t key = PackBits(known.index_plus_one, *number);
  if (const auto counted = counted_.find(key); counted != counted_.end()) {
    ++thread.stacks[counted->second].count;
    return true;
  }
  if (counted_.size() >= limits_.thread_stacks) {
    return false;
  }
  counted_.emplace(key, static_cast<uint32_t>(thread.stacks.size()));
  thread.stacks.push_back({*number, 1});
  return true;
}

std::optional<uint32_t> SampleBatcher::StackInBatch(StackId stack) {
  const StackTable& table = reader_.stacks();
  path_.clear();
  uint32_t number = 0;
  for (StackId at = stack; at != kEmptyStack; at = table.parent(at)) {
    if (const auto known = stack_numbers_.find(at); known != stack_numbers_.end()) {
      number = known->second;
      break;
    }
    path_.push_back(at);
  }
  if (batch_.stacks.size() + path_.size() > limits_.stacks ||
      stack_numbers_.size() + path_.size() > kReaderStacksPerStack * limits_.stacks) {
    return std::nullopt;
  }
  for (auto at = path_.rbegin(); at != path_.rend(); ++at) {
    if (string_bytes_ > limits_.string_bytes) {
      return std::nullopt;
    }
    const uint32_t frame = FrameInBatch(table.leaf(*at));
    const auto fresh = static_cast<uint32_t>(batch_.stacks.size());
    const uint32_t node = stack_index_.FindOrInsert(MixBits(PackBits(number, frame)), fresh, [&](uint32_t other) {
      return batch_.stacks[other].parent == number && batch_.stacks[other].frame == frame;
    });
    if (node == fresh) {
      batch_.stacks.push_back({number, frame});
    }
    number = node + 1;
    stack_numbers_[*at] = number;
  }
  return number;
}

// Frames that differ only in their columns are one frame here.
uint32_t SampleBatcher::FrameInBatch(FrameId id) {
  if (const auto known = frame_numbers_.find(id); known != frame_numbers_.end()) {
    return known->second;
  }
  const Frame& frame = reader_.stacks().frame(id);
  const SampleBatch::Frame short_frame = {.function = StringInBatch(frame.function),
                                          .file = StringInBatch(frame.file),
                                          .line = frame.line,
                                          .first_line = frame.first_line,
                                          .kind = frame.kind};
  const auto fresh = static_cast<uint32_t>(batch_.frames.size());
  const uint32_t number = frame_index_.FindOrInsert(
      HashOf(short_frame), fresh, [&](uint32_t other) { return batch_.frames[other] == short_frame; });
  if (number == fresh) {
    batch_.frames.push_back(short_frame);
  }
  frame_numbers_[id] = number;
  return number;
}

uint32_t SampleBatcher::StringInBatch(std::string_view text) {
  text = text.substr(0, kMaxFrameText);
  const auto fresh = static_cast<uint32_t>(batch_.strings.size());
  const uint64_t hash = MixBits(std::hash<std::string_view>{}(text));
  const uint32_t number =
      string_index_.FindOrInsert(hash, fresh, [&](uint32_t other) { return batch_.strings[other] == text; });
  if (number == fresh) {
    batch_.strings.emplace_back(text);
    string_bytes_ += text.size();
  }
  return number;
}

void SampleBatcher::OnState(TrackId track, Nanos when, const StateInfo& state) {
  latest_ = std::max(latest_, when);
  const auto found = threads_.find(track);
  if (found == threads_.end()) {
    return;
  }
  KnownThread& thread = found->second;
  if (thread.state.holds_gil) {
    thread.gil_time = thread.gil_time + (when - thread.state_since);
  }
  thread.state = state;
  thread.state_since = when;
  InBatch(thread);
}

// States continue across batches. If a time was counted too early, the next batch gets less.
void SampleBatcher::FinishThreads() {
  for (auto& [track, thread] : threads_) {
    if (thread.state.holds_gil) {
      thread.gil_time = thread.gil_time + (latest_ - thread.state_since);
      thread.state_since = latest_;
    }
    if (thread.index_plus_one != 0) {
      SampleBatch::Thread& listed = batch_.threads[thread.index_plus_one - 1];
      listed.state = thread.state.state;
      listed.holds_gil = thread.state.holds_gil;
      listed.gil_time = std::max(thread.gil_time, Nanos(0));
      thread.gil_time = thread.gil_time - listed.gil_time;
      thread.index_plus_one = 0;
    }
  }
}

void SampleBatcher::FinishCounters() {
  SampleBatch::Counters& counters = batch_.counters;
  const uint64_t skipped = reader_.skipped();
  counters.lost = skipped - skipped_;
  skipped_ = skipped;
  if (accounting_.has_value()) {
    const Accounting& now = *accounting_;
    // Untrusted totals may decrease.
    const auto grown = [](uint64_t to, uint64_t from) { return to > from ? to - from : 0; };
    counters.lost += grown(now.lost, accounted_.lost);
    counters.missed = grown(now.missed, accounted_.missed);
    counters.collector_cpu = std::max(now.collector_cpu - accounted_.collector_cpu, Nanos(0));
    counters.actual_rate_hz = now.actual_rate_hz;
    accounted_ = now;
  }
}

// A trace does not report the end of a thread.
void SampleBatcher::ForgetThreads() {
  if (threads_.size() <= limits_.known_threads) {
    return;
  }
  std::vector<uint64_t> seen;
  seen.reserve(threads_.size());
  for (const auto& [track, thread] : threads_) {
    seen.push_back(thread.seen);
  }
  const auto middle = seen.begin() + static_cast<std::ptrdiff_t>(seen.size() / 2);
  std::nth_element(seen.begin(), middle, seen.end());
  std::erase_if(threads_, [&](const auto& entry) { return entry.second.seen < *middle; });
}

}  // namespace ptrace_prof
