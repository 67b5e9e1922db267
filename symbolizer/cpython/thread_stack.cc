#include "symbolizer/cpython/thread_stack.h"

#include <algorithm>
#include <cstring>

namespace ptrace_prof {
namespace {

constexpr int kMaxRounds = 4;           // predictions tried before the chain counts as broken
constexpr uint32_t kReplanEvery = 64;   // samples: drops what the stack no longer needs
constexpr uint32_t kRoomAbove = 1024;   // for calls made since the last sample
constexpr uint64_t kMostRoom = 8192;    // reading 8 KiB more costs less than another system call
constexpr uint32_t kProbeBelow = 3072;  // callers are usually just below a frame in the same chunk
constexpr uint32_t kCframeSize = 16;
constexpr uint32_t kFewFetches = 64;  // takes a fraction of a millisecond; if it takes longer, we have no CPU

uint64_t LoadWord(const std::byte* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// The size that covers the fields in use.
uint32_t StateSize(const Layout& layout) {
  uint32_t end = layout.thread_interp + sizeof(uint64_t);
  for (const auto field : {&Layout::thread_frame, &Layout::thread_cframe}) {
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
  bare_ = false;
  for (size_t frames = chain_.frames.size(); !Plan(frames); frames /= 2) {
    if (frames == 0) {
      Forget();
      return;
    }
  }
}

// Plans the first `frames` frames of the last walk, from the leaf on. False: more than may be read at once.
bool ThreadStack::Plan(size_t frames) {
  plan_.Clear();
  plan_.Add(state_, state_size_);
  if (cframe_ != 0) {
    plan_.Add(RemoteAddr(cframe_), kCframeSize);
  }
  for (size_t i = 0; i < frames; ++i) {
    plan_.Add(RemoteAddr(chain_.frames[i].address), layout_.frame_size);
  }
  for (const uint64_t shim : chain_.shims) {
    plan_.Add(RemoteAddr(shim), layout_.frame_size);
  }
  for (const uint64_t missed : missed_) {
    if (missed != 0) {
      plan_.Add(RemoteAddr(missed), layout_.frame_size);
    }
  }
  if (!chain_.frames.empty()) {
    PlanRoom(chain_.frames.front().address);
  }
  return plan_.Seal() && plan_.pieces() <= kMostPieces;
}

// Plans room above the leaf for new calls: up to the recent maximum of the stack, else to the end of the page.
void ThreadStack::PlanRoom(uint64_t leaf) {
  plan_.AddWithRoom(RemoteAddr(leaf), layout_.frame_size, kRoomAbove);
  if (highest_ > leaf && highest_ - leaf <= kMostRoom) {
    plan_.Add(RemoteAddr(leaf), static_cast<uint32_t>(highest_ - leaf) + layout_.frame_size);
  }
}

// Resets the plan to the thread state alone, which is readable as long as the thread lives.
void ThreadStack::Forget() {
  chain_.Clear();
  cframe_ = 0;
  highest_ = 0;
  missed_ = {};
  bare_ = true;
  replan_due_ = false;
  plan_.Clear();
  plan_.Add(state_, state_size_);
  plan_.Seal();
}

// The address of the youngest frame, from the bytes read. False: the plan must first cover cframe_.
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
  plan_.AppendRequests(batch);
}

ReadStatus ThreadStack::ReadPlanned(RemoteMemory& memory) {
  ReplanIfDue();
  requests_.clear();
  plan_.AppendRequests(&requests_);
  size_t filled = 0;
  return memory.ReadBatch(requests_, &filled);
}

// Reads the part of the page around a frame that the plan lacks: its callers are usually just below it.
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

// Walks from current_ to the root, and fetches what the plan lacks.
CollectStatus ThreadStack::Walk(RemoteMemory& memory, Nanos deadline) {
  const FrameBytes bytes{plan_, fetched_};
  fetched_.Clear();
  chain_.Clear();
  pieced_ = is_unknown_ = false;
  WalkResult walk = WalkFrames(layout_, bytes, current_, max_depth_, &chain_);
  for (uint32_t fetches = 0; walk.end == WalkEnd::kMissing && fetches < max_depth_; ++fetches) {
    if (fetches >= kFewFetches && MonotonicNow() > deadline) {
      is_unknown_ = true;
      break;
    }
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
    walk = WalkFrames(layout_, bytes, walk.missing, max_depth_, &chain_);
  }
  NoteWalk();
  if (is_unknown_) {
    return CollectStatus::kTooLong;
  }
  switch (walk.end) {
    case WalkEnd::kRoot: return CollectStatus::kWhole;
    case WalkEnd::kTooDeep: return CollectStatus::kTooDeep;
    case WalkEnd::kMissing:
    case WalkEnd::kBad: break;
  }
  return CollectStatus::kBroken;
}

// Stores what the next plan needs.
void ThreadStack::NoteWalk() {
  const bool is_due = ++since_replan_ >= kReplanEvery;
  if (is_due) {
    since_replan_ = 0;
    highest_ = 0;
  }
  replan_due_ = replan_due_ || pieced_ || is_due;
  if (!chain_.frames.empty()) {
    highest_ = std::max(highest_, chain_.frames.front().address);
  }
}

bool ThreadStack::IsOfThisThread(const std::byte* state) const {
  return state != nullptr && LoadWord(state + layout_.thread_interp) == interpreter_.value;
}

CollectStatus ThreadStack::Collect(RemoteMemory& memory, bool filled, Nanos deadline) {
  for (int round = 0; round < kMaxRounds; ++round, filled = false) {
    if (!filled) {
      const ReadStatus status = ReadPlanned(memory);
      if (status == ReadStatus::kGone || status == ReadStatus::kDenied) {
        return CollectStatus::kGone;
      }
      if (status == ReadStatus::kFault) {
        if (bare_) {
          return CollectStatus::kNoState;
        }
        Forget();  // a predicted address is not mapped any more: start again from the thread state
        continue;
      }
    }
    if (!IsOfThisThread(plan_.Find(state_.value, state_size_))) {
      return CollectStatus::kNoState;
    }
    if (LocateCurrent(&current_)) {
      return Walk(memory, deadline);
    }
    replan_due_ = true;
  }
  return CollectStatus::kBroken;
}

CollectStatus ThreadStack::ReadAgain(RemoteMemory& memory, Nanos deadline) { return Collect(memory, false, deadline); }

void ThreadStack::Prime(RemoteMemory& memory) {
  if (!is_known()) {
    (void)ReadAgain(memory);
  }
  ReplanIfDue();
}

}  // namespace ptrace_prof
