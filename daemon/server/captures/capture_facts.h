// What is known of a capture: as it was asked for, and as it is at one moment. Pure data.
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

// Why a capture that goes on is ended before its time.
enum class CancelCause : uint8_t {
  kAsked,         // by who may
  kUnattended,    // nobody asks after it any more, and nobody said to keep it
  kDaemonEnding,  // an error, unlike the others: who wants it cannot know
};

constexpr bool HasEnded(CaptureState state) { return state >= CaptureState::kSucceeded; }

// Whose a capture is, or who asks for it.
struct CaptureUser {
  uint32_t uid = 0;
  bool is_administrator = false;  // who sees captures of everybody; see PeerIdentity
  bool operator==(const CaptureUser&) const = default;
};

struct CaptureParameters;
struct CaptureSnapshot;
// Of a capture that has ended; called on its thread.
using CaptureEnded = std::function<void(const CaptureParameters&, const CaptureSnapshot&)>;

struct CaptureParameters {
  std::string id;
  std::string request_id = {};  // empty: none
  std::string asked = {};       // SerialisedSpec() of what was asked for, before a limit narrowed it
  CaptureUser owner = {};
  CaptureTask request;
  uint64_t max_bytes = 0;  // 0: no limit. One without an ID fails there, others end well
  bool keep = false;
  std::string spool_folder;
  Nanos stop_patience = Nanos::FromSeconds(10);  // for a collector that was told to end, before it is killed
  CaptureShelf* shelf = nullptr;                 // where it outlives us; null: its trace is gone with us
  CaptureEnded on_end = nullptr;
  std::shared_ptr<SpoolAccount> account = {};  // its bytes count here; null: nowhere
  double cpu_cores = 0;                        // that it is counted with, where there is a budget (cpu_budget.h)
  std::vector<std::string> notices = {};       // said before those of its trace
  std::string rival = {};  // which capture may be tracing the target, as far as the owner may know; empty: none
};

// Times are CLOCK_REALTIME; zero: not yet.
struct CaptureSnapshot {
  CaptureState state = CaptureState::kPending;
  Nanos created;
  Nanos started;
  Nanos ended;
  uint64_t trace_bytes = 0;
  Accounting totals;
  GpuAccounting gpu;  // of all processes together
  Nanos cpu;  // of the collector: as it says, and of one that has ended as the kernel counted it, where that is known
  std::optional<v1::Mode> mode;  // as it is carried out, once that is settled: never kAuto
  std::string sampled_because;   // see CaptureTask
  std::optional<Error> error;    // kFailed; kCancelled where that was not asked for, or not done well
  std::string end_message;       // for people; empty where it ended as asked
  std::vector<std::string> notices;
};

}  // namespace ptrace_prof
