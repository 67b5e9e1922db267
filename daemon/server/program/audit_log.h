// The audit for the administrator: a file with a line of JSON for each thing that a caller was permitted or refused.
//
// Thread-safe. The file is opened while the daemon is privileged (mode 0600, owned by the user who started the daemon),
// and lines are only appended, one write each. If a line cannot be written, the log gets an error that contains it.
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
  kStarted,  // a collector runs; the kernel's decision is known at its end
  kAllowed,  // it has ended, and the kernel let it read
  kRefused,  // by the kernel, or by us
  kFailed,   // for another reason
};

// A capture of another user.
struct AuditedCapture {
  std::string id;
  Uid owner;
};

// The process at the time of the request: its pid may belong to another process when the audit is read.
struct AuditedTarget {
  Uid owner;
  std::string command;  // comm
};

struct AuditEntry {
  PeerIdentity caller;
  std::string what;                        // "connect", the verb of a collector, or what was done with `capture`
  Pid target;                              // 0: none
  std::optional<AuditedTarget> whom = {};  // nothing: no such process was found
  AuditOutcome outcome = AuditOutcome::kStarted;
  Error error = {};       // of kRefused and kFailed
  std::string rule = {};  // the policy's rule that allowed or refused it; empty: none
  std::optional<AuditedCapture> capture = {};
  size_t times = 1;  // number of like events, with those that were not recorded
};

class AuditLog {
 public:
  // kPermissionDenied: other users can write to the file, or it is not a regular file.
  static Result<std::unique_ptr<AuditLog>> Open(const std::string& path);

  // An audit that writes no file.
  static std::unique_ptr<AuditLog> None() { return std::unique_ptr<AuditLog>(new AuditLog(UniqueFd())); }

  // Passes each entry to `listener` too, on the thread that writes it. Set it before the first entry.
  void ReportToo(std::function<void(const AuditEntry&)> listener) { listener_ = std::move(listener); }

  void Write(const AuditEntry& entry);

 private:
  explicit AuditLog(UniqueFd file) : file_(std::move(file)) {}

  const UniqueFd file_;
  std::function<void(const AuditEntry&)> listener_;
};

std::string_view OutcomeName(AuditOutcome outcome);  // "refused"
// The line, without the newline. `time`: CLOCK_REALTIME.
std::string AuditLine(const AuditEntry& entry, Nanos time);
// kRefused if the error is a refusal, else kFailed.
AuditOutcome OutcomeOf(const Error& error);

}  // namespace ptrace_prof
