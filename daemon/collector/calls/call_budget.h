// Decides which functions to switch off so that the tracing of calls stays within its limit of the target's time.
//
// Every quarter of a second the number of events since the last time, multiplied by the cost of one, is compared with
// the limit, a share of one core. If there were too many, the functions that were called most and called nothing in
// Python are switched off first, until the rest fits; their callers may be next. A function is switched off in two
// steps, so that open calls keep their ends: first its begins, and once no call of it is open, all its events.
//
// A function is never switched on again within a capture. The result lists the functions by name, with the calls
// counted until then. One per traced process; one thread. Does not know the target: World::switch_off does.
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

  // `share`: of one core; 0: no limit, and nothing is counted.
  CallBudget(double share, World world) : share_(share), world_(std::move(world)) {}

  bool IsInUse() const { return share_ > 0; }
  void SetEventCost(double nanoseconds) { event_cost_ns_ = nanoseconds; }

  void OnBegin(RemoteAddr code) { ++CountsOf(code).calls; }
  // The end of a call that called nothing in Python.
  void OnLeafEnd(RemoteAddr code) { ++CountsOf(code).leaf_calls; }

  // Call every few milliseconds; `events`: all so far, lost ones included.
  void Weigh(Nanos now, uint64_t events);

  // The functions that were switched off, in that order.
  std::vector<LeftOut> Rows() const;

 private:
  struct Counts {
    uint64_t calls = 0;
    uint64_t leaf_calls = 0;  // since the last weighing
    bool is_off = false;
  };
  struct Going {
    RemoteAddr code;
    Nanos since;  // when it was chosen or last seen to be open
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
  Counts none_;  // shared by functions beyond the limit
  std::vector<Going> going_;
  std::vector<std::pair<RemoteAddr, std::string>> off_;  // with their names
};

}  // namespace ptrace_prof
