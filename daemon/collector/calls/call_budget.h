// Which functions have to be switched off so that telling of calls costs a target no more than it may.
//
// Every quarter of a second the events since the last time are weighed: their number by what one costs, as a share of
// one core. Where that is too much, those functions go first that were called most and called nothing in Python
// themselves, until what is left fits; their callers may then be the next. A function goes in two steps, so that calls
// that are open keep their ends: first its begins are not told any more, then, once none is open, nothing is.
// Nobody comes back within a capture. What it chose is told by name, with the calls that were counted until then.
// One per traced process; one thread. Knows no target: Switch does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attach/base/flat_map.h"
#include "attach/base/types.h"
#include "daemon/trace/left_out.h"

namespace ptrace_prof {

class CallBudget {
 public:
  enum class Step : uint8_t { kBegins, kAll };
  struct World {
    // False: it cannot be switched off.
    std::function<bool(RemoteAddr code, Step step)> switch_off;
    std::function<bool(RemoteAddr code)> is_open;  // on the stack of some thread
    std::function<std::string(RemoteAddr code)> name_of;
  };

  // `share`: of one core; 0 = there is no limit, and nothing is counted.
  CallBudget(double share, World world) : share_(share), world_(std::move(world)) {}

  bool IsInUse() const { return share_ > 0; }
  void SetEventCost(double nanoseconds) { event_cost_ns_ = nanoseconds; }

  void OnBegin(RemoteAddr code) { ++CountsOf(code).calls; }
  // The end of a call that called nothing in Python.
  void OnLeafEnd(RemoteAddr code) { ++CountsOf(code).leaf_calls; }

  // Call it every few milliseconds; `events`: all so far, those that were lost among them.
  void Weigh(Nanos now, uint64_t events);

  // Those that were switched off, in that order.
  std::vector<LeftOut> Rows() const;

 private:
  struct Counts {
    uint64_t calls = 0;
    uint64_t leaf_calls = 0;  // since the last time
    bool is_off = false;
  };
  struct Going {
    RemoteAddr code;
    Nanos since;  // when it was last seen to be open, or chosen
  };
  struct AddressHash {
    uint64_t operator()(uint64_t address) const { return MixHash(address, 0); }
  };

  Counts& CountsOf(RemoteAddr code);
  void Finish(Nanos now);
  void Choose(double events_too_many);
  bool SwitchOff(RemoteAddr code);

  const double share_;
  const World world_;
  double event_cost_ns_ = 0;
  Nanos last_;
  uint64_t last_events_ = 0;
  FlatMap<uint64_t, size_t, AddressHash> places_;
  std::vector<std::pair<RemoteAddr, Counts>> counts_;
  Counts none_;  // of those that are too many to be counted
  std::vector<Going> going_;
  std::vector<std::pair<RemoteAddr, std::string>> off_;  // with their names
};

}  // namespace ptrace_prof
