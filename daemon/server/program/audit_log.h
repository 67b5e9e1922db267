// The audit: a file with a line of JSON for each thing that a caller was let do, or not; for the administrator.
//
// Thread-safe. The file is opened while the daemon has its rights (0600, of who started it) and only ever appended to,
// a line at a time. A line that cannot be written is an error in the log, with its words.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "attach/base/unique_fd.h"
#include "rpc/connection/peer_identity.h"

namespace ptrace_prof {

enum class AuditOutcome : uint8_t {
  kStarted,  // a collector runs; what the kernel says to it is told at its end
  kAllowed,  // it has ended, and the kernel let it read
  kRefused,  // by the kernel, or by us
  kFailed,   // for another reason
};

// One that is another user's.
struct AuditedCapture {
  std::string id;
  Uid owner;
};

// What the process was when it was asked about: its number may be another's by the time somebody reads this.
struct AuditedTarget {
  Uid owner;
  std::string command;  // as it calls itself
};

struct AuditEntry {
  PeerIdentity caller;
  std::string what;                        // "connect", the verb of a collector, or what was done with `capture`
  Pid target;                              // 0: none
  std::optional<AuditedTarget> whom = {};  // nothing: it was not found
  AuditOutcome outcome = AuditOutcome::kStarted;
  Error error = {};       // of kRefused and kFailed
  std::string rule = {};  // of the policy, that let it pass or refused it; empty: none
  std::optional<AuditedCapture> capture = {};
  size_t times = 1;  // with those like it that were not told
};

class AuditLog {
 public:
  // kPermissionDenied: others may write to the file, or it is no plain file.
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& path);

  // One that is written nowhere.
  static std::unique_ptr<AuditLog> None() { return std::unique_ptr<AuditLog>(new AuditLog(UniqueFd())); }

  // Hears of each entry as well, on the thread that writes it. Set it before the first one.
  void TellToo(std::function<void(const AuditEntry&)> listener) { listener_ = std::move(listener); }

  void Write(const AuditEntry& entry);

 private:
  explicit AuditLog(UniqueFd file) : file_(std::move(file)) {}

  const UniqueFd file_;
  std::function<void(const AuditEntry&)> listener_;
};

std::string_view OutcomeName(AuditOutcome outcome);  // "refused"
// The line, without its end. `time`: CLOCK_REALTIME.
std::string AuditLine(const AuditEntry& entry, Nanos time);
// kRefused where the error is a refusal, else kFailed.
AuditOutcome OutcomeOf(const Error& error);

}  // namespace ptrace_prof
