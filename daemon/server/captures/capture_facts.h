// What is known about a capture: its parameters, and its state at one moment. Plain data.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class CaptureShelf;
class SpoolAccount;

enum class CaptureState : uint8_t { kPending, kRunning, kDraining, kSucceeded, kFailed, kCancelled };

inline constexpr size_t kCaptureStates = 6;

// Why a running capture is ended early.
enum class CancelCause : uint8_t {
  kAsked,         // by a caller who may cancel it
  kUnattended,    // no client has asked for it for a while, and `keep` is not set
  kDaemonEnding,  // an error, unlike the others: the client cannot know about it
};

constexpr bool HasEnded(CaptureState state) { return state >= CaptureState::kSucceeded; }

// The owner of a capture, or the user who asks for one.
struct CaptureUser {
  uint32_t uid = 0;
  bool is_administrator = false;  // sees the captures of all users; see PeerIdentity
  bool operator==(const CaptureUser&) const = default;
};

struct CaptureParameters;
struct CaptureSnapshot;
// Called when a capture has ended, on that capture's thread.
using CaptureEnded = std::function<void(const CaptureParameters&, const CaptureSnapshot&)>;

struct CaptureParameters {
  std::string id;
  std::string request_id = {};  // empty: none
  std::string asked = {};       // SerialisedSpec() of the request, before a limit narrowed it
  CaptureUser owner = {};
  CaptureTask request;
  uint64_t max_bytes = 0;  // 0: no limit. At the limit, a capture without an ID fails; others end normally
  bool keep = false;
  std::string spool_folder;
  Nanos stop_patience = Nanos::FromSeconds(10);  // for a collector that was asked to stop, before it is killed
  CaptureShelf* shelf = nullptr;                 // keeps the capture beyond our end; null: the trace ends with us
  CaptureEnded on_end = nullptr;
  std::shared_ptr<SpoolAccount> account = {};  // that its bytes count in; null: none
  double cpu_cores = 0;                        // its share of the CPU budget, if there is one (cpu_budget.h)
  std::vector<std::string> notices = {};       // shown before those of its trace
  std::string rival = {};  // the capture that may be tracing the target, if the owner may see it; empty: none
};

// Times are CLOCK_REALTIME; zero: not yet.
struct CaptureSnapshot {
  CaptureState state = CaptureState::kPending;
  Nanos created;
  Nanos started;
  Nanos ended;
  uint64_t trace_bytes = 0;
  Accounting totals;
  GpuAccounting gpu;             // of all processes together
  Nanos cpu;                     // of the collector: as it reports; after its end as the kernel counted it, if known
  std::optional<v1::Mode> mode;  // the mode in effect, once that is decided: never kAuto
  std::string sampled_because;   // see CaptureTask
  std::optional<Error> error;    // kFailed; kCancelled if nobody asked for that, or if the end was not clean
  std::string end_message;       // for people; empty if the capture ended as requested
  std::vector<std::string> notices;
};

}  // namespace ptrace_prof
