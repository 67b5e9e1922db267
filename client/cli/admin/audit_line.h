// Parses and filters lines of the daemon's audit log (docs/daemon.md). Pure data and functions. A program without
// privileges wrote the file, so its text is made printable before it is shown.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attach/base/result.h"
#include "attach/base/types.h"

namespace ptrace_prof {

struct AuditRecord {
  Nanos time;  // since 1970
  std::string time_text;
  Uid uid;
  Pid caller;
  Pid target;               // 0: none
  std::string target_text;  // a description of the target: "python3 of user 1000"; empty: not known
  std::string what;
  std::string outcome;
  std::string reason;
  std::string message;
  std::string rule;     // of the policy; empty: none
  std::string capture;  // another user's capture; empty: none
  Uid owner;            // of that capture
  std::string json;     // the whole line, with all fields, also unknown ones
};

// Nothing if the line is not a complete audit record.
std::optional<AuditRecord> ParseAuditLine(std::string_view line);

// All conditions that are set must hold.
struct AuditFilter {
  std::optional<Uid> uid;  // the caller
  std::optional<Pid> pid;  // the caller or the target
  Nanos since;
  std::string outcome;
};
bool Matches(const AuditRecord& record, const AuditFilter& filter);

// "90s", "2h", "3d" before `now`, or a time: "2026-11-21", "2026-11-21 22:10", "2026-11-21T22:10:03Z"; UTC.
Result<Nanos> ParseSince(std::string_view text, Nanos now);

// A table with one line per record. The column widths are fixed, because more records may follow.
std::string AuditTitles();
std::string AuditTableLine(const AuditRecord& record, const std::string& user);

}  // namespace ptrace_prof
