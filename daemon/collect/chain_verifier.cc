#include "daemon/collect/chain_verifier.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "attach/ptrace/stopped_threads.h"

namespace ptrace_prof {
namespace {

// A loop of the target can look the same torn at every second look, so this many must agree: 2^-20.
constexpr int kConfirmingReads = 20;
constexpr int kConfirmingReadsOfRoot = 60;  // a generator that has yielded looks like a root for most of a short loop
constexpr uint64_t kLongestWait = 24'000;   // turns of an empty loop, about 8 us
constexpr uint64_t kShortWait = 9'000;      // where the reads are at random distances themselves
constexpr double kSearchedShare = 0.02;     // of the samples cut: with fewer, stops hardly meet what is in doubt
constexpr double kRecent = 1.0 / 128;
constexpr int kLooks = 3;
constexpr int kMostLearnt = 16;                // links of one chain
constexpr uint32_t kFirstSearch = 2;           // doubts of one link
constexpr uint32_t kFirstSearchReturned = 64;  // where a simpler explanation is at hand
constexpr int kMostMends = 6;                  // callers of one chain that have gone on
constexpr uint32_t kNeverFound = 8;            // doubts of one link, none of which a stop could confirm
constexpr uint32_t kMostStopsOfSearch = 8;
constexpr size_t kMaxDoubted = 1 << 16;
constexpr uint32_t kSightingsOfRoot = 2;             // stops that must find it before it is believed
constexpr uint64_t kRarestRoot = 20;                 // one in so many stops
constexpr double kStopShare = 0.005;                 // of the target's time
constexpr Nanos kFreeStops = Nanos::FromMillis(10);  // at the beginning, when everything is new
constexpr double kLookShare = 0.002;                 // of our time, in vain, where it is scarce
constexpr Nanos kFreeLooks = Nanos::FromMillis(10);
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

// The same calls down to the one into frame `depth`, where the outermost is 0; what that one does since is left open.
bool SameCallsInto(size_t depth, const std::vector<RawFrame>& a, const std::vector<RawFrame>& b) {
  if (a.size() <= depth || b.size() <= depth ||
      !std::equal(a.end() - static_cast<ptrdiff_t>(depth), a.end(), b.end() - static_cast<ptrdiff_t>(depth))) {
    return false;
  }
  const RawFrame& one = a[a.size() - 1 - depth];
  const RawFrame& other = b[b.size() - 1 - depth];
  return one.address == other.address && one.code == other.code;
}

bool IsUsable(CollectStatus status) { return status == CollectStatus::kWhole || status == CollectStatus::kTooDeep; }

}  // namespace

ChainVerifier::ChainVerifier(Pid pid, RemoteMemory& memory, StackLinker& linker, const VerifierRules& rules)
    : pid_(pid), memory_(memory), linker_(linker), rules_(rules), allow_stops_(rules.allow_stops) {}

uint64_t ChainVerifier::Random() {
  random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
  return random_ >> 32;
}

// Never the same, and longer than a short loop of the target, with which repeated reads must not keep step.
void ChainVerifier::WaitABit(uint64_t longest) {
  for (uint64_t spins = Random() % longest; spins > 0; --spins) {
    asm volatile("" ::: "memory");
  }
}

bool ChainVerifier::LinkUp(CollectStatus collected, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out) {
  if (!IsUsable(collected)) {
    return false;
  }
  const bool too_deep = collected == CollectStatus::kTooDeep;
  LinkEnd end = linker_.Follow(stack.frames(), too_deep, &chain).end;
  if (end == LinkEnd::kUnknownCode && stack.DropDeadShims()) {
    end = linker_.Follow(stack.frames(), too_deep, &chain).end;
  }
  if (end == LinkEnd::kUnknownCode) {
    // Reading code takes longer than many a call lasts: look first.
    early_ = stack.ReadSeries(memory_, Random(), &series_);
    linker_.ReadCodes(stack.frames());
    end = linker_.Follow(stack.frames(), too_deep, &chain).end;
  }
  if (end != LinkEnd::kLinked) {
    return false;
  }
  stack.TrustBottom();
  *out = TakeLinked(chain, too_deep ? SampleQuality::kTooDeep : SampleQuality::kVerified);
  return true;
}

VerifiedStack ChainVerifier::TakeLinked(const LinkedChain& chain, SampleQuality quality) const {
  VerifiedStack out;
  out.leaf = chain.leaf();
  out.stack = linker_.stack(out.leaf);
  out.quality = quality;
  return out;
}

// The chain as it was read last: do as many more reads find the same calls into frame `depth`?
ChainVerifier::Standing ChainVerifier::StandsStill(size_t depth, int reads, ThreadStack& stack,
                                                   CollectStatus* collected) {
  expected_ = stack.frames();
  Standing standing;
  while (standing.equal < reads) {
    size_t moments = std::exchange(early_, 0);
    if (moments == 0) {
      WaitABit(kShortWait);
      moments = stack.ReadSeries(memory_, Random(), &series_);
    }
    if (moments == 0) {
      *collected = stack.ReadAgain(memory_, false);
      return standing;
    }
    for (size_t i = 0; i < moments && standing.equal < reads; ++i, ++standing.equal) {
      const CollectStatus now = stack.Take(series_[i], memory_);
      const bool same = now == *collected && SameCallsInto(depth, expected_, stack.frames());
      *collected = now;
      if (!same) {
        return standing;
      }
      standing.whole = standing.whole && SameCalls(expected_, stack.frames());
    }
  }
  standing.proven = true;
  return standing;
}

bool ChainVerifier::RootStandsStill(ThreadStack& stack, CollectStatus* collected) {
  expected_ = stack.frames();
  for (int i = 0; i < kConfirmingReadsOfRoot; ++i) {
    WaitABit(kLongestWait);
    const CollectStatus now = stack.ReadAgain(memory_, i % 2 == 0);
    const bool same = now == *collected && SameCalls(expected_, stack.frames());
    *collected = now;
    if (!same) {
      return false;
    }
  }
  return true;
}

// The chain that was read last shows the doubtful call of the first read as well. Does it last?
bool ChainVerifier::TryToLearn(const Seen& seen, ThreadStack& stack, CollectStatus* collected) {
  const bool too_deep = *collected == CollectStatus::kTooDeep;
  if (seen.depth == 0) {
    // Of a thread that was put off its CPU as it yielded, all reads are equal.
    if (!SameCalls(first_, stack.frames()) || linker_.MayLackCaller(stack.frames()) ||
        !RootStandsStill(stack, collected)) {
      return false;
    }
    linker_.Learn(stack.frames(), too_deep);
  } else {
    if (!seen.missing.has_value() || !SameCallsInto(seen.depth, first_, stack.frames())) {
      return false;
    }
    const int reads = evidence_.ReadsNeeded(*seen.missing, kConfirmingReads);
    const Standing standing = StandsStill(seen.depth, reads, stack, collected);
    if (!standing.proven) {
      evidence_.Add(*seen.missing, standing.equal);
      return false;
    }
    linker_.Learn(*seen.missing);
    if (standing.whole && reads == kConfirmingReads) {
      linker_.Learn(stack.frames(), too_deep);
    }
  }
  ++counters_.confirmed;
  return true;
}

// Is the chain of the first read known by now? Else `seen` is how far it is.
bool ChainVerifier::FollowFirst(bool too_deep, Seen* seen, LinkedChain& chain, VerifiedStack* out) {
  if (linker_.Follow(first_, too_deep, &chain).end == LinkEnd::kLinked) {
    *out = TakeLinked(chain, too_deep ? SampleQuality::kTooDeep : SampleQuality::kVerified);
    return true;
  }
  *seen = {chain.leaf(), chain.nodes.size(), linker_.UnknownLink(first_, chain)};
  return false;
}

// While a chain is read again no samples are taken, and that happens more in some functions than in others: where
// samples follow each other closely it would take time from them.
bool ChainVerifier::MayLook(Nanos now) {
  if (!rules_.looks_are_scarce) {
    return true;
  }
  if (first_look_ == Nanos()) {
    first_look_ = now;
  }
  return looked_in_vain_.seconds() < kFreeLooks.seconds() + (now - first_look_).seconds() * kLookShare;
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
  const Nanos stopped_for = MonotonicNow() - begin;
  counters_.stopped_total = counters_.stopped_total + stopped_for;
  counters_.stopped_longest = std::max(counters_.stopped_longest, stopped_for);
  if (!IsUsable(collected)) {
    return false;
  }
  *out = Accept(collected, stack, chain);
  out->quality = out->quality == SampleQuality::kVerified ? SampleQuality::kStopped : out->quality;
  return true;
}

// A generator that yields is for some nanoseconds the youngest frame and without a caller. A stop can catch that, and
// if the thread was put off its CPU there, so can many in a row: what may yield is never believed to be a root. Any
// other when stops have found it more than once, and not rarely.
bool ChainVerifier::IsTrustedRoot(const std::vector<RawFrame>& frames) {
  if (frames.empty() || linker_.MayLackCaller(frames)) {
    return false;
  }
  if (roots_.size() >= kMaxDoubted) {
    roots_.Clear();
  }
  ++exact_reads_;
  const uint64_t code = frames.back().code;
  uint32_t* known = roots_.Find(code);
  uint32_t& times = known != nullptr ? *known : *roots_.Insert(code, 0);
  ++times;
  return times >= (rules_.is_only_sample ? 1U : kSightingsOfRoot) && uint64_t{times} * kRarestRoot >= exact_reads_;
}

VerifiedStack ChainVerifier::Accept(CollectStatus collected, ThreadStack& stack, LinkedChain& chain) {
  VerifiedStack out;
  linker_.Learn(stack.frames(), collected == CollectStatus::kTooDeep || !IsTrustedRoot(stack.frames()));
  return LinkUp(collected, stack, chain, &out) ? out : CutAt(chain.leaf());
}

uint32_t ChainVerifier::Doubts(const Link& link) const {
  const uint32_t* known = doubted_.Find({link.caller, link.callee, 0});
  return known == nullptr ? 0 : *known;
}

// A link that no read could settle. Each time that its doubts have doubled, the thread's next few samples are taken
// under stops, wherever the thread is by then, until one of them finds the link: what is often in doubt costs most.
void ChainVerifier::Doubt(Tid tid, const Link& link, uint32_t first_search) {
  if (doubted_.size() >= kMaxDoubted) {
    doubted_.Clear();
  }
  const Link anywhere{link.caller, link.callee, 0};
  uint32_t* known = doubted_.Find(anywhere);
  uint32_t& times = known != nullptr ? *known : *doubted_.Insert(anywhere, 0);
  const bool is_worth_it = first_search != kFirstSearch || cut_share_ >= kSearchedShare;
  if (std::has_single_bit(++times) && times >= first_search && is_worth_it) {
    search_ = {tid, link, std::min(times, kMostStopsOfSearch)};
  }
}

bool ChainVerifier::IsSearched(Tid tid) {
  if (search_.thread != tid || search_.stops_left == 0 || tid == Tid()) {
    return false;
  }
  --search_.stops_left;
  return !linker_.links().Contains(search_.link);
}

// Chains that were torn are whole at the next look, as a rule. true: every link is known now, and `out` says what
// the thread did at the moment of the first read.
bool ChainVerifier::LookAgain(Seen* seen, CollectStatus* collected, ThreadStack& stack, LinkedChain& chain,
                              VerifiedStack* out) {
  for (int look = 0, learnt = 0; look < kLooks; ++look) {
    if (early_ == 0) {
      *collected = stack.ReadAgain(memory_, look % 2 == 0);
    }
    if (*collected == CollectStatus::kGone || *collected == CollectStatus::kNoState) {
      return false;
    }
    if (LinkUp(*collected, stack, chain, out) && IsOfThatMoment(*seen, stack.frames(), chain)) {
      return true;
    }
    const bool too_deep = *collected == CollectStatus::kTooDeep;
    if (IsUsable(*collected) && TryToLearn(*seen, stack, collected)) {
      if (FollowFirst(too_deep, seen, chain, out)) {
        return true;
      }
      look = ++learnt < kMostLearnt ? -1 : look;  // there is another link of it to be learnt
    }
    early_ = 0;
  }
  return false;
}

// Does the chain of a later look tell about the moment of the first read, which found the calls `first_`, known as far
// as `seen`? It does if the same calls are in progress, if the thread is back in the code of `seen` itself, or if
// it is in the one function that `seen` calls there. Any other callee would be the choice of those that stand still
// longest, and would have the time of all others.
bool ChainVerifier::IsOfThatMoment(const Seen& seen, const std::vector<RawFrame>& now, const LinkedChain& chain) const {
  if (seen.node == kRootNode || SameCalls(first_, now)) {
    return true;
  }
  const NodeId leaf = chain.leaf();
  if (linker_.parent(leaf) == linker_.parent(seen.node) && linker_.code(leaf) == linker_.code(seen.node)) {
    return true;
  }
  return chain.nodes.size() > seen.depth && chain.nodes[seen.depth - 1] == seen.node &&
         linker_.links().HasOneCallee(linker_.code(seen.node),
                                      linker_.SiteOf(linker_.code(seen.node), chain.frames[seen.depth - 1]));
}

// The thread was in the callee when the read began, and in another call by the time that the caller was read: then
// the call in progress was the one that is known. What is told is the moment of the leaf, for every sample: whoever
// told that of the caller where the two differ would take time from all short calls.
bool ChainVerifier::LinkElsewhere(Link doubted, bool any_caller, const ThreadStack& stack, LinkedChain& chain,
                                  VerifiedStack* out) {
  mended_ = stack.frames();
  for (int mends = 0; mends < kMostMends && linker_.MoveDoubt(doubted, any_caller, chain, &mended_); ++mends) {
    if (linker_.Follow(mended_, false, &chain).end == LinkEnd::kLinked) {
      *out = TakeLinked(chain, SampleQuality::kVerified);
      return true;
    }
    const std::optional<Link> next = linker_.UnknownLink(mended_, chain);
    if (!next.has_value()) {
      break;
    }
    doubted = *next;
  }
  mended_ = stack.frames();
  if (!any_caller || !linker_.MendFromLeaf(&mended_) ||
      linker_.Follow(mended_, false, &chain).end != LinkEnd::kLinked) {
    return false;
  }
  *out = TakeLinked(chain, SampleQuality::kVerified);
  return true;
}

VerifiedStack ChainVerifier::CutAt(NodeId leaf) {
  VerifiedStack out;
  out.leaf = leaf;
  out.stack = linker_.WithMarker(linker_.stack(leaf), kTruncatedMarker);
  out.quality = SampleQuality::kTruncated;
  return out;
}

VerifiedStack ChainVerifier::Settle(Tid tid, CollectStatus collected, const std::optional<Link>& missing,
                                    ThreadStack& stack, LinkedChain& chain) {
  VerifiedStack out;
  Seen seen = IsUsable(collected) ? Seen{chain.leaf(), chain.nodes.size(), missing} : Seen{};
  const bool was_whole = collected == CollectStatus::kWhole;
  first_ = stack.frames();
  if (const Nanos begin = MonotonicNow(); seen.node == kRootNode || MayLook(begin)) {
    if (LookAgain(&seen, &collected, stack, chain, &out)) {
      return out;
    }
    looked_in_vain_ = looked_in_vain_ + (MonotonicNow() - begin);
  }
  if (collected == CollectStatus::kGone || collected == CollectStatus::kNoState) {
    out.readable = false;
    out.gone = collected == CollectStatus::kGone;
    return out;
  }
  if ((seen.node == kRootNode || rules_.is_only_sample) && ReadStopped(tid, stack, chain, &out)) {
    return out;  // the first read said nothing at all, or may be given up for one of another moment
  }
  out = CutAt(seen.node);
  cut_share_ += kRecent;
  out.doubtful = was_whole ? doubtful_.Keep(first_) : kNotDoubtful;
  return out;
}

VerifiedStack ChainVerifier::Verify(Tid tid, CollectStatus collected, ThreadStack& stack, LinkedChain& chain) {
  VerifiedStack out;
  cut_share_ -= cut_share_ * kRecent;
  early_ = 0;
  if (IsSearched(tid) && ReadStopped(tid, stack, chain, &out)) {
    return out;
  }
  if (LinkUp(collected, stack, chain, &out)) {
    return out;
  }
  const std::optional<Link> doubted = IsUsable(collected) ? linker_.UnknownLink(stack.frames(), chain) : std::nullopt;
  if (doubted.has_value() && collected == CollectStatus::kWhole) {
    if (LinkElsewhere(*doubted, Doubts(*doubted) >= kNeverFound, stack, chain, &out)) {
      Doubt(tid, *doubted, kFirstSearchReturned);  // it may be a call from a second place after all
      return out;
    }
    static_cast<void>(linker_.Follow(stack.frames(), false, &chain));
  }
  if (doubted.has_value() && linker_.links().IsLikelyReturned(*doubted)) {
    Doubt(tid, *doubted, kFirstSearchReturned);
    return TakeLinked(chain, SampleQuality::kVerified);
  }
  out = Settle(tid, collected, doubted, stack, chain);
  if (doubted.has_value() && !linker_.links().Contains(*doubted)) {
    Doubt(tid, *doubted, kFirstSearch);
  }
  return out;
}

}  // namespace ptrace_prof
