#include "symbolizer/cpython/thread_stack.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ptrace_prof {
namespace {

constexpr int kMaxRounds = 4;                // predictions tried before the chain is called broken
constexpr Nanos kOneMoment = Nanos(50'000);  // for the pieces of one chain: a few reads
constexpr uint32_t kReplanEvery = 64;        // samples: sheds what the stack no longer needs
constexpr uint32_t kRoomAbove = 1024;        // for calls made since the last sample
constexpr uint64_t kMostRoom = 8192;         // reading 8 KiB more costs less than another call
constexpr uint32_t kProbeBelow = 3072;       // callers usually lie just below a frame in the same chunk
constexpr uint32_t kCframeSize = 16;
constexpr size_t kLongestSeries = 8;  // moments: the call's own cost is an eighth then
constexpr size_t kMostPieces = 16;    // of a stack that is read in series: with more it is they that cost
constexpr size_t kMostBytes = 32 * 1024;
constexpr uint64_t kMostDelays = 3;  // between two moments, 0.3 us each

uint64_t LoadWord(const std::byte* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The fields that are looked at.
uint32_t StateSize(const Layout& layout) {
  uint32_t end = layout.thread_interp + sizeof(uint64_t);
  for (const auto field : {&Layout::thread_frame, &Layout::thread_cframe, &Layout::thread_recursion_depth}) {
    end = layout.Has(field) ? std::max<uint32_t>(end, layout.*field + sizeof(uint64_t)) : end;
  }
  return std::min(end, layout.thread_size);
}

}  // namespace

ThreadStack::ThreadStack(const Layout& layout, RemoteAddr state, RemoteAddr interpreter, uint32_t max_depth)
    : layout_(layout), state_(state), interpreter_(interpreter), max_depth_(max_depth), state_size_(StateSize(layout)) {
  Replan();
}

void ThreadStack::ReplanIfDue() {
  if (replan_due_) {
    Replan();
  }
}

void ThreadStack::Replan() {
  replan_due_ = false;
  plan_.Clear();
  plan_.Add(state_, state_size_);
  if (cframe_ != 0) {
    plan_.Add(RemoteAddr(cframe_), kCframeSize);
  }
  for (const RawFrame& frame : chain_.frames) {
    plan_.Add(RemoteAddr(frame.address), layout_.frame_size);
  }
  for (const uint64_t shim : chain_.shims) {
    if (shim != bottom_.shim) {
      plan_.Add(RemoteAddr(shim), layout_.frame_size);
    }
  }
  for (const uint64_t missed : missed_) {
    if (missed != 0 && missed != bottom_.shim) {
      plan_.Add(RemoteAddr(missed), layout_.frame_size);
    }
  }
  if (!chain_.frames.empty()) {
    PlanRoom(chain_.frames.front().address);
  }
  bare_ = false;
  if (!plan_.Seal()) {
    Forget();
  }
}

// Room above the leaf for the calls to come: as far up as the stack reached lately, else to the end of the page.
void ThreadStack::PlanRoom(uint64_t leaf) {
  plan_.AddWithRoom(RemoteAddr(leaf), layout_.frame_size, kRoomAbove);
  if (highest_ > leaf && highest_ - leaf <= kMostRoom) {
    plan_.Add(RemoteAddr(leaf), static_cast<uint32_t>(highest_ - leaf) + layout_.frame_size);
  }
}

// Back to the thread state alone, which must be readable as long as the thread lives.
void ThreadStack::Forget() {
  chain_.Clear();
  cframe_ = 0;
  bottom_ = {};
  highest_ = 0;
  missed_ = {};
  bare_ = true;
  replan_due_ = false;
  plan_.Clear();
  plan_.Add(state_, state_size_);
  plan_.Seal();
}

// The address of the youngest frame, out of the bytes read. false: the plan must first cover cframe_.
bool ThreadStack::LocateCurrent(uint64_t* current) {
  const std::byte* state = plan_.Find(state_.value, state_size_);
  if (layout_.Has(&Layout::thread_frame)) {
    *current = LoadWord(state + layout_.thread_frame);
    return true;
  }
  cframe_ = LoadWord(state + layout_.thread_cframe);
  if (!IsPlausibleAddress(cframe_)) {
    cframe_ = 0;
    *current = 0;
    return true;
  }
  const std::byte* cframe = plan_.Find(cframe_, kCframeSize);
  if (cframe == nullptr) {
    return false;
  }
  *current = LoadWord(cframe + layout_.cframe_current_frame);
  return true;
}

void ThreadStack::AppendRequests(std::vector<ReadRequest>* batch) {
  ReplanIfDue();
  plan_.Show(0);
  plan_.AppendRequests(batch);
}

ReadStatus ThreadStack::ReadPlanned(RemoteMemory& memory, bool backwards) {
  ReplanIfDue();
  plan_.Show(0);
  requests_.clear();
  plan_.AppendRequests(&requests_, 0, backwards ? ReadPlan::Order::kBackwards : ReadPlan::Order::kForwards);
  size_t filled = 0;
  return memory.ReadBatch(requests_, &filled);
}

// Reads the page part around a frame that the plan does not cover: its callers usually lie just below it.
ReadStatus ThreadStack::Fetch(RemoteMemory& memory, uint64_t frame) {
  const uint64_t page = frame & ~uint64_t{4095};
  const uint64_t start = std::max(page, frame - std::min<uint64_t>(frame, kProbeBelow));
  fetched_.Clear();
  fetched_.Add(RemoteAddr(start), static_cast<uint32_t>(frame - start) + layout_.frame_size);
  fetched_.Seal();
  requests_.clear();
  fetched_.AppendRequests(&requests_);
  size_t filled = 0;
  return memory.ReadBatch(requests_, &filled);
}

void ThreadStack::Remember(uint64_t missed) {
  if (std::find(missed_.begin(), missed_.end(), missed) == missed_.end()) {
    missed_[missed_next_++ % missed_.size()] = missed;
  }
}

// Walks from current_ to the root, fetching what the plan lacks on the way.
CollectStatus ThreadStack::Walk(RemoteMemory& memory) {
  const FrameBytes bytes{plan_, fetched_};
  fetched_.Clear();
  chain_.Clear();
  pieced_ = false;
  WalkResult walk = WalkFrames(layout_, bytes, current_, bottom_, max_depth_, &chain_);
  for (uint32_t fetches = 0; walk.end == WalkEnd::kMissing && fetches < max_depth_; ++fetches) {
    if (fetches < missed_.size()) {
      Remember(walk.missing);
    }
    pieced_ = true;
    const ReadStatus status = Fetch(memory, walk.missing);
    if (status == ReadStatus::kGone) {
      return CollectStatus::kGone;
    }
    if (status != ReadStatus::kOk) {
      return CollectStatus::kBroken;
    }
    walk = WalkFrames(layout_, bytes, walk.missing, bottom_, max_depth_, &chain_);
  }
  NoteWalk();
  switch (walk.end) {
    case WalkEnd::kRoot: return CollectStatus::kWhole;
    case WalkEnd::kTooDeep: return CollectStatus::kTooDeep;
    case WalkEnd::kMissing:
    case WalkEnd::kBad: break;
  }
  return CollectStatus::kBroken;
}

// What the next plan must know of it.
void ThreadStack::NoteWalk() {
  const bool is_due = ++since_replan_ >= kReplanEvery;
  if (is_due) {
    since_replan_ = 0;
    highest_ = 0;
    bottom_ = {};  // now and then the shim is read again
  }
  NoteShims();
  replan_due_ = replan_due_ || pieced_ || is_due;
  if (!chain_.frames.empty()) {
    highest_ = std::max(highest_, chain_.frames.front().address);
  }
}

// The innermost only: they are the next to go.
void ThreadStack::NoteShims() {
  constexpr size_t kNoted = 2;
  for (size_t i = 0; i < std::min(kNoted, chain_.shims.size()); ++i) {
    if (std::ranges::find(shims_, chain_.shims[i]) == shims_.end()) {
      shims_[shims_next_++ % shims_.size()] = chain_.shims[i];
    }
  }
}

bool ThreadStack::DropDeadShims() {
  constexpr size_t kMostAbove = 8;
  std::vector<RawFrame>& frames = chain_.frames;
  for (size_t i = 1; i + 1 < frames.size() && i <= kMostAbove; ++i) {
    if (std::ranges::find(shims_, frames[i].address) == shims_.end()) {
      continue;
    }
    const auto shim = frames.begin() + static_cast<ptrdiff_t>(i);
    const bool is_recursion = std::any_of(frames.begin(), shim, [&](const RawFrame& above) {
      return std::any_of(shim + 1, frames.end(), [&](const RawFrame& below) { return below.code == above.code; });
    });
    if (is_recursion) {
      return false;
    }
    frames.erase(shim);
    return true;
  }
  return false;
}

// How many frames there can have been when the thread state was read.
uint32_t ThreadStack::DepthOf(const std::byte* state) const {
  if (!layout_.Has(&Layout::thread_recursion_depth)) {
    return UINT32_MAX;
  }
  uint32_t depth = 0;
  std::memcpy(&depth, state + layout_.thread_recursion_depth, sizeof depth);
  return depth;
}

// Frames on the heap (up to 3.10) are used again at any depth: where a recursion goes up and down meanwhile, the upper
// part of one moment leads to the lower part of another, and only the number of frames tells.
bool ThreadStack::IsOfSeveralMoments(uint32_t depth) const {
  constexpr size_t kBeingLeft = 1;  // it is counted no more, but is the youngest still
  if (chain_.frames.size() <= size_t{depth} + kBeingLeft) {
    return false;
  }
  std::vector<uint64_t> codes;
  codes.reserve(chain_.frames.size());
  for (const RawFrame& frame : chain_.frames) {
    codes.push_back(frame.code);
  }
  std::sort(codes.begin(), codes.end());
  return std::adjacent_find(codes.begin(), codes.end()) != codes.end();
}

bool ThreadStack::IsOfThisThread(const std::byte* state) const {
  return state != nullptr && LoadWord(state + layout_.thread_interp) == interpreter_.value;
}

CollectStatus ThreadStack::Collect(RemoteMemory& memory, Nanos read_at) {
  for (int round = 0; round < kMaxRounds; ++round) {
    if (read_at == Nanos()) {
      read_at = MonotonicNow();
      const ReadStatus status = ReadPlanned(memory, false);
      if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
        return CollectStatus::kGone;
      }
      if (status == ReadStatus::kFault) {
        if (bare_) {
          return CollectStatus::kNoState;
        }
        Forget();  // a predicted place is gone: start again from the thread state
        read_at = Nanos();
        continue;
      }
    }
    const std::byte* state = plan_.Find(state_.value, state_size_);
    if (!IsOfThisThread(state)) {
      return CollectStatus::kNoState;
    }
    const uint32_t depth = DepthOf(state);
    if (LocateCurrent(&current_)) {
      const CollectStatus status = Walk(memory);
      if (status == CollectStatus::kWhole && IsOfSeveralMoments(depth)) {
        read_at = Nanos();
        continue;
      }
      if (!pieced_ || round + 1 == kMaxRounds || MonotonicNow() - read_at < kOneMoment) {
        return status;
      }
    } else {
      replan_due_ = true;
    }
    read_at = Nanos();
  }
  return CollectStatus::kBroken;
}

void ThreadStack::TrustBottom() {
  if (chain_.end_shim == bottom_.shim || chain_.frames.empty()) {
    return;
  }
  bottom_ = {chain_.end_shim, chain_.frames.back().address, chain_.frames.back().code};
  replan_due_ = true;
}

CollectStatus ThreadStack::ReadAgain(RemoteMemory& memory, bool backwards) {
  const Nanos read_at = MonotonicNow();
  const ReadStatus status = ReadPlanned(memory, backwards);
  if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
    return CollectStatus::kGone;
  }
  return Collect(memory, status == ReadStatus::kOk ? read_at : Nanos());
}

size_t ThreadStack::SeriesLength() const {
  return plan_.request_count() <= kMostPieces && plan_.size() <= kMostBytes ? kLongestSeries : 1;
}

size_t ThreadStack::ReadSeries(RemoteMemory& memory, uint64_t random, Series* series) {
  ReplanIfDue();
  const size_t moments = SeriesLength();
  plan_.MakeRoom(moments);
  requests_.clear();
  for (size_t i = 0; i < moments; ++i, random /= kMostDelays + 1) {
    plan_.AppendRequests(&requests_, i, i % 2 == 0 ? ReadPlan::Order::kBackwards : ReadPlan::Order::kForwards);
    for (uint64_t delays = random % (kMostDelays + 1); delays > 0; --delays) {
      requests_.push_back({state_, ignored_.data(), static_cast<uint32_t>(ignored_.size())});
    }
  }
  size_t filled = 0;
  const Nanos read_at = MonotonicNow();
  if (memory.ReadBatch(requests_, &filled) != ReadStatus::kOk) {
    return 0;
  }
  CollectSeries(memory, moments, read_at, series);
  return moments;
}

// All are walked before anything else is read: that would go where they lie.
void ThreadStack::CollectSeries(RemoteMemory& memory, size_t moments, Nanos read_at, Series* series) {
  if (series->size() < moments) {
    series->resize(moments);
  }
  std::swap(chain_, kept_);
  for (size_t i = 0; i < moments; ++i) {
    Moment& moment = (*series)[i];
    moment.status.reset();
    plan_.Show(i);
    const std::byte* state = plan_.Find(state_.value, state_size_);
    if (!IsOfThisThread(state)) {
      moment.status = CollectStatus::kNoState;
      continue;
    }
    const uint32_t depth = DepthOf(state);
    if (!LocateCurrent(&current_)) {
      replan_due_ = true;
      continue;
    }
    const CollectStatus status = Walk(memory);
    const bool is_one = !(status == CollectStatus::kWhole && IsOfSeveralMoments(depth)) &&
                        !(pieced_ && MonotonicNow() - read_at >= kOneMoment);
    if (is_one) {
      moment.status = status;
      std::swap(moment.chain, chain_);
    }
  }
  plan_.Show(0);
  std::swap(chain_, kept_);
}

CollectStatus ThreadStack::Take(Moment& moment, RemoteMemory& memory) {
  if (!moment.status.has_value()) {
    return Collect(memory, Nanos());
  }
  std::swap(chain_, moment.chain);
  return *moment.status;
}

}  // namespace ptrace_prof
