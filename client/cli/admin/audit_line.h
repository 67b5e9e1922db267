// A line of the daemon's audit (docs/daemon.md), understood, and which of them somebody wants to see. Pure data and
// functions. The file was written by a program without rights: what is in it is made printable before it is shown.
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
  std::string target_text;  // what that was: "python3 of user 1000"; empty: not known
  std::string what;
  std::string outcome;
  std::string reason;
  std::string message;
  std::string rule;     // of the policy; empty: none
  std::string capture;  // another user's; empty: none
  Uid owner;            // of that
  std::string json;     // the whole line again, with all fields, those unknown here too
};

// Nothing where it is no whole line of an audit.
std::optional<AuditRecord> ParseAuditLine(std::string_view line);

// What is set must hold.
struct AuditFilter {
  std::optional<Uid> uid;  // who asked
  std::optional<Pid> pid;  // who asked, or whom it was about
  Nanos since;
  std::string outcome;
};
bool Matches(const AuditRecord& record, const AuditFilter& filter);

// "90s", "2h", "3d" before `now`, or a moment: "2026-11-21", "2026-11-21 22:10", "2026-11-21T22:10:03Z"; UTC.
Result<Nanos> ParseSince(std::string_view text, Nanos now);

// Columns with a line for each record; they are as wide as they usually are, as more may come.
std::string AuditTitles();
std::string AuditTableLine(const AuditRecord& record, const std::string& user);

}  // namespace ptrace_prof
