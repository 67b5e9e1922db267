#include "daemon/collect/chain_verifier.h"

#include <algorithm>
#include <utility>

#include "attach/ptrace/stopped_threads.h"

namespace ptrace_prof {
namespace {

// A loop of the target can look the same torn at every second look, so this many must agree: 2^-20.
constexpr int kConfirmingReads = 20;
constexpr uint64_t kLongestWait = 24'000;  // turns of an empty loop, about 8 us
constexpr int kAttempts = 3;
constexpr int kQuickLooks = 6;
constexpr uint64_t kStopOneIn = 8;         // of the chains that a second look settled …
constexpr uint64_t kStopOneInMost = 4096;  // … while stops still teach new links; ever fewer when they do not
constexpr double kStopShare = 0.005;       // of the target's time
constexpr Nanos kFreeStops = Nanos::FromMillis(10);  // at the beginning, when everything is new
constexpr Nanos kStopTimeout = Nanos::FromMillis(20);
constexpr uint64_t kMaxFailedStops = 16;  // in a row of a capture: then stops are not possible here

// The same calls in progress; the leaf may have moved on within its function.
bool SameCalls(const std::vector<RawFrame>& a, const std::vector<RawFrame>& b) {
  if (a.size() != b.size() || a.empty()) {
    return a.size() == b.size();
  }
  if (a[0].address != b[0].address || a[0].code != b[0].code) {
    return false;
  }
  for (size_t i = 1; i < a.size(); ++i) {
    if (a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

bool IsUsable(CollectStatus status) { return status == CollectStatus::kWhole || status == CollectStatus::kTooDeep; }

}  // namespace

ChainVerifier::ChainVerifier(Pid pid, RemoteMemory& memory, StackLinker& linker, bool allow_stops)
    : pid_(pid), memory_(memory), linker_(linker), allow_stops_(allow_stops), stop_one_in_(kStopOneIn) {}

uint64_t ChainVerifier::Random() {
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return random_ >> 32;
}

// Never the same, and longer than a short loop of the target, with which repeated reads must not keep step.
void ChainVerifier::WaitABit() {
  for (uint64_t spins = Random() % kLongestWait; spins > 0; --spins) {
    asm volatile("" ::: "memory");
  }
}

bool ChainVerifier::LinkUp(CollectStatus collected, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out) {
  if (!IsUsable(collected)) {
    return false;
  }
  const bool too_deep = collected == CollectStatus::kTooDeep;
  if (linker_.Follow(stack.frames(), too_deep, &chain).end != LinkEnd::kLinked) {
    return false;
  }
  stack.TrustBottom();
  out->leaf = chain.leaf();
  out->stack = linker_.stack(out->leaf);
  out->quality = too_deep ? SampleQuality::kTooDeep : SampleQuality::kVerified;
  return true;
}

bool ChainVerifier::Confirm(ThreadStack& stack, CollectStatus* collected) {
  expected_ = stack.frames();
  bool same = IsUsable(*collected);
  for (int i = 0; i < kConfirmingReads; ++i) {
    WaitABit();
    const CollectStatus now = stack.ReadAgain(memory_, i % 2 == 0);
    same = same && now == *collected && SameCalls(expected_, stack.frames());
    *collected = now;
    if (!same) {
      return false;
    }
  }
  ++counters_.confirmed;
  return true;
}

bool ChainVerifier::MayStop() {
  const Nanos now = MonotonicNow();
  if (first_stop_ == Nanos()) {
    first_stop_ = now;
  }
  const double allowed = kFreeStops.seconds() + (now - first_stop_).seconds() * kStopShare;
  return allow_stops_ && counters_.stopped_total.seconds() < allowed;
}

bool ChainVerifier::ReadStopped(Tid tid, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out) {
  if (tid == Tid() || !MayStop()) {
    return false;
  }
  CollectStatus collected = CollectStatus::kBroken;
  const Nanos begin = MonotonicNow();
  {
    const auto stopped = StoppedThreads::Stop(pid_, tid, kStopTimeout);
    if (stopped.has_error() || stopped.value().threads().empty()) {
      if (++counters_.failed_stops >= kMaxFailedStops && counters_.stops == 0) {
        allow_stops_ = false;
      }
      return false;
    }
    collected = stack.ReadAgain(memory_, false);
  }
  ++counters_.stops;
  counters_.stopped_total = counters_.stopped_total + (MonotonicNow() - begin);
  if (!IsUsable(collected)) {
    return false;
  }
  *out = Accept(collected, stack, chain);
  out->quality = out->quality == SampleQuality::kVerified ? SampleQuality::kStopped : out->quality;
  return true;
}

VerifiedStack ChainVerifier::Accept(CollectStatus collected, ThreadStack& stack, LinkedChain& chain) {
  VerifiedStack out;
  linker_.Learn(stack.frames(), collected == CollectStatus::kTooDeep);
  if (!LinkUp(collected, stack, chain, &out)) {
    out.leaf = chain.leaf();
    out.stack = linker_.WithMarker(linker_.stack(out.leaf), kTruncatedMarker);
    out.quality = SampleQuality::kTruncated;
  }
  return out;
}

// Chains that were torn are whole at the next look, as a rule.
ChainVerifier::Look ChainVerifier::LookAgain(CollectStatus* collected, ThreadStack& stack, LinkedChain& chain,
                                             VerifiedStack* out) {
  for (int look = 0; look < kQuickLooks; ++look) {
    expected_ = stack.frames();
    *collected = stack.ReadAgain(memory_, look % 2 == 0);
    if (*collected == CollectStatus::kGone || *collected == CollectStatus::kNoState) {
      return Look::kLost;
    }
    if (LinkUp(*collected, stack, chain, out)) {
      return Look::kKnown;
    }
    if (SameCalls(expected_, stack.frames())) {
      return Look::kStands;
    }
  }
  return Look::kMoves;
}

// Every so often a chain that a second look settled is not taken as it is, but read under a stop.
VerifiedStack ChainVerifier::StopAtRandom(Tid tid, ThreadStack& stack, LinkedChain& chain, const VerifiedStack& seen) {
  VerifiedStack stopped;
  const size_t known = linker_.link_count();
  if (Random() % stop_one_in_ != 0 || !ReadStopped(tid, stack, chain, &stopped)) {
    return seen;
  }
  stop_one_in_ = linker_.link_count() > known ? kStopOneIn : std::min(stop_one_in_ * 2, kStopOneInMost);
  return stopped;
}

VerifiedStack ChainVerifier::Verify(Tid tid, CollectStatus collected, ThreadStack& stack, LinkedChain& chain) {
  VerifiedStack out;
  if (LinkUp(collected, stack, chain, &out)) {
    return out;
  }
  Look look = Look::kStands;
  for (int attempt = 0; attempt < kAttempts && look == Look::kStands; ++attempt) {
    if (collected == CollectStatus::kGone || collected == CollectStatus::kNoState) {
      break;
    }
    look = LookAgain(&collected, stack, chain, &out);
    if (look == Look::kKnown) {
      return StopAtRandom(tid, stack, chain, out);
    }
    if (look == Look::kStands && Confirm(stack, &collected)) {
      linker_.Learn(stack.frames(), collected == CollectStatus::kTooDeep);
    }
    if (look == Look::kStands && LinkUp(collected, stack, chain, &out)) {
      return out;
    }
  }
  if (collected == CollectStatus::kGone || collected == CollectStatus::kNoState) {
    out.readable = false;
    out.gone = collected == CollectStatus::kGone;
    return out;
  }
  if (ReadStopped(tid, stack, chain, &out)) {
    return out;
  }
  if (!IsUsable(collected)) {
    chain.Clear();  // the root was not reached: nothing of the chain is known to be true
  }
  out.leaf = chain.leaf();
  out.stack = linker_.WithMarker(linker_.stack(out.leaf), kTruncatedMarker);
  out.quality = SampleQuality::kTruncated;
  return out;
}

}  // namespace ptrace_prof
