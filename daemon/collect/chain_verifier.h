// Settles the samples whose links are not all known, without taking sides: what is reported is where the first read
// found the thread, never where it went meanwhile, and of that read the moment of the leaf. Whoever waits until a chain
// can be read well samples the functions that stand still longest.
//
// Most doubtful chains are torn: read while the thread moved. Where the caller has gone on, the call in progress is the
// one that is known to lead to the callee, if there is only one. The others are read again at once, a few times; if
// the thread is still in the same calls, that settles it, else the chain is cut at the first doubtful link (and whole
// again if that link becomes known before the flush: doubtful_chains.h). A chain that stands still has a link that we
// have not met yet: twenty more equal reads at random distances, in both orders, prove it. So do fewer at each of
// several meetings (link_evidence.h). Links too short-lived for that are learnt from stops (PTRACE_SEIZE + INTERRUPT,
// some tens of microseconds): after a doubt that nothing settled, the thread's next few samples are taken under stops.
// That they will be was decided before, so they are fair as well. Stops may take kStopShare of the target's time,
// become fewer for a link that none ever finds, and are not made while doubts are so rare that a stop would hardly meet
// one. One per process of the target; same thread as the sampler.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attach/base/flat_map.h"
#include "attach/base/types.h"
#include "attach/proc/remote_memory.h"
#include "daemon/collect/doubtful_chains.h"
#include "daemon/collect/link_evidence.h"
#include "daemon/collect/stack_linker.h"
#include "daemon/trace/model.h"
#include "symbolizer/cpython/thread_stack.h"

namespace ptrace_prof {

struct VerifiedStack {
  StackId stack = kEmptyStack;
  NodeId leaf = kRootNode;
  SampleQuality quality = SampleQuality::kVerified;
  DoubtfulId doubtful = kNotDoubtful;  // cut: the whole chain, in doubtful() until the next flush
  bool readable = true;                // false: nothing could be read at all
  bool gone = false;                   // the process ended
};

struct VerifierRules {
  bool allow_stops = true;
  bool is_only_sample = false;    // there will be no other: nothing can be learnt for later, and none can be biased
  bool looks_are_scarce = false;  // looking again in vain may take little time: samples follow each other closely
};

class ChainVerifier {
 public:
  struct Counters {
    uint64_t confirmed = 0;  // settled by looking again
    uint64_t stops = 0;
    uint64_t failed_stops = 0;
    Nanos stopped_total;
    Nanos stopped_longest;
  };

  ChainVerifier(Pid pid, RemoteMemory& memory, StackLinker& linker, const VerifierRules& rules);

  // `collected` is what ThreadStack::Collect said about `stack`.
  VerifiedStack Verify(Tid tid, CollectStatus collected, ThreadStack& stack, LinkedChain& chain);
  // The thread was stopped while the chain was read: it is exact.
  VerifiedStack Accept(CollectStatus collected, ThreadStack& stack, LinkedChain& chain);

  const Counters& counters() const { return counters_; }
  DoubtfulChains& doubtful() { return doubtful_; }

 private:
  struct Seen {  // how far the first read was linked
    NodeId node = kRootNode;
    size_t depth = 0;
    std::optional<Link> missing;  // the next link
  };
  struct Search {
    Tid thread;
    Link link;
    uint32_t stops_left = 0;
  };

  struct Standing {
    bool proven = false;  // all the reads asked for were equal
    bool whole = true;    // up to the leaf
    int equal = 0;
  };

  bool LookAgain(Seen* seen, CollectStatus* collected, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out);
  bool FollowFirst(bool too_deep, Seen* seen, LinkedChain& chain, VerifiedStack* out);
  bool IsOfThatMoment(const Seen& seen, const std::vector<RawFrame>& now, const LinkedChain& chain) const;
  VerifiedStack Settle(Tid tid, CollectStatus collected, const std::optional<Link>& missing, ThreadStack& stack,
                       LinkedChain& chain);
  bool LinkElsewhere(Link doubted, bool any_caller, const ThreadStack& stack, LinkedChain& chain, VerifiedStack* out);
  VerifiedStack TakeLinked(const LinkedChain& chain, SampleQuality quality) const;
  VerifiedStack CutAt(NodeId leaf);
  uint32_t Doubts(const Link& link) const;
  void Doubt(Tid tid, const Link& link, uint32_t first_search);
  bool IsSearched(Tid tid);
  bool TryToLearn(const Seen& seen, ThreadStack& stack, CollectStatus* collected);
  Standing StandsStill(size_t depth, int reads, ThreadStack& stack, CollectStatus* collected);
  bool RootStandsStill(ThreadStack& stack, CollectStatus* collected);
  bool LinkUp(CollectStatus collected, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out);
  bool ReadStopped(Tid tid, ThreadStack& stack, LinkedChain& chain, VerifiedStack* out);
  bool IsTrustedRoot(const std::vector<RawFrame>& frames);
  bool MayLook(Nanos now);
  bool MayStop();
  uint64_t Random();
  void WaitABit(uint64_t longest);

  const Pid pid_;
  RemoteMemory& memory_;
  StackLinker& linker_;
  const VerifierRules rules_;
  bool allow_stops_;  // until the kernel turns out to refuse them
  Search search_;
  FlatMap<Link, uint32_t, LinkHash> doubted_;  // from whichever instruction of the caller
  double cut_share_ = 0;                       // of the last hundred samples or so
  LinkEvidence evidence_;
  ThreadStack::Series series_;
  size_t early_ = 0;  // moments in series_ that were read right after the first read
  Nanos first_look_;  // when the allowance for looking again began to count
  Nanos looked_in_vain_;
  Nanos first_stop_;  // when the allowance for stops began to count
  uint64_t random_ = 0x9E3779B97F4A7C15ULL;
  struct AddressHash {
    uint64_t operator()(uint64_t address) const { return MixHash(address, 0); }
  };
  FlatMap<uint64_t, uint32_t, AddressHash> roots_;  // code objects that stops found outermost
  uint64_t exact_reads_ = 0;
  std::vector<RawFrame> first_;     // what Verify was called with
  std::vector<RawFrame> expected_;  // the look before
  std::vector<RawFrame> mended_;    // by LinkElsewhere
  DoubtfulChains doubtful_;
  Counters counters_;
};

}  // namespace ptrace_prof
