#include "client/cli/inspect/named_target.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "client/cli/inspect/inspection.h"
#include "client/cli/inspect/ps_table.h"
#include "client/cli/interrupts.h"
#include "client/cli/messages.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kPause = Nanos::FromMillis(500);
constexpr size_t kMostShown = 20;

Result<std::vector<ProcessEntry>> Look(CaptureBackend& backend, const CommandPattern& pattern) {
  CaptureTask list;
  list.set_verb(CaptureTask::LIST);
  PP_ASSIGN_OR_RETURN(const Inspection found, Inspect(backend, list));
  if (found.end.code != Code::kOk) {
    return ErrorOf(found.end);
  }
  return MatchesOf(found.entries, pattern, Pid(::getpid()));
}

// Returns at least one entry.
Result<std::vector<ProcessEntry>> Await(CaptureBackend& backend, const NamedQuery& query,
                                        const CommandPattern& pattern) {
  Interrupts interrupts(Interrupts::Mode::kAlone);
  const Nanos begin = MonotonicNow();
  if (!query.quiet) {
    PrintNote(fmt::format("waiting for a Python process whose command line matches '{}'; press Ctrl-C to stop waiting",
                          query.pattern));
  }
  for (;;) {
    auto matches = Look(backend, pattern);
    if (interrupts.count() > 0) {
      return Error{Code::kCancelled,
                   fmt::format("interrupted before a process whose command line matches '{}' appeared", query.pattern),
                   ""};
    }
    if (matches.has_error() || !matches.value().empty()) {
      return matches;
    }
    const Nanos waited = MonotonicNow() - begin;
    if (query.wait->value > 0 && waited >= *query.wait) {
      return Error{Code::kNotFound,
                   fmt::format("no Python process whose command line matches '{}' appeared within {:g} s",
                               query.pattern, query.wait->seconds()),
                   "wait longer, or without limit (--wait); `ptrace-prof ps` lists the Python processes"};
    }
    const Nanos rest = query.wait->value > 0 ? std::min(kPause, *query.wait - waited) : kPause;
    ::poll(nullptr, 0, static_cast<int>(rest.value / 1'000'000) + 1);  // a signal interrupts the pause
  }
}

Error Ambiguous(const std::vector<ProcessEntry>& matches, const std::string& pattern) {
  for (size_t i = 0; i < std::min(matches.size(), kMostShown); ++i) {
    PrintNote(fmt::format("{:>7}  {}", matches[i].pid.value, CommandText(matches[i])));
  }
  if (matches.size() > kMostShown) {
    PrintNote(fmt::format("    and {} more", matches.size() - kMostShown));
  }
  return {Code::kInvalidArgument,
          fmt::format("the command lines of {} Python processes match '{}'", matches.size(), pattern),
          "choose one with --pid, or give more of its command line"};
}

uint64_t TicksOf(Nanos since_boot) {
  return static_cast<uint64_t>(since_boot.value / (1'000'000'000 / ::sysconf(_SC_CLK_TCK)));
}

}  // namespace

std::vector<ProcessEntry> MatchesOf(std::span<const ProcessEntry> entries, const CommandPattern& pattern,
                                    Pid ourselves) {
  std::map<Pid, Pid> parents;
  std::map<Pid, const ProcessEntry*> matching;
  for (const ProcessEntry& entry : entries) {
    parents[entry.pid] = entry.parent_pid;
    if (entry.kind == ProcessKind::kPython && entry.pid != ourselves &&
        (pattern.Matches(CommandText(entry)) || pattern.Matches(entry.name))) {
      matching[entry.pid] = &entry;
    }
  }
  const auto is_below_another = [&](Pid pid) {
    for (size_t steps = 0; steps <= parents.size(); ++steps) {
      const auto parent = parents.find(pid);
      if (parent == parents.end()) {
        return false;
      }
      pid = parent->second;
      if (matching.contains(pid)) {
        return true;
      }
    }
    return false;
  };
  std::vector<ProcessEntry> matches;
  for (const auto& [pid, entry] : matching) {
    if (!is_below_another(pid)) {
      matches.push_back(*entry);
    }
  }
  return matches;
}

Result<void> FindNamed(CaptureBackend& backend, const NamedQuery& query, CaptureTask& task) {
  PP_ASSIGN_OR_RETURN(const CommandPattern pattern, CommandPattern::Compile(query.pattern));
  PP_ASSIGN_OR_RETURN(const auto matches,
                      query.wait.has_value() ? Await(backend, query, pattern) : Look(backend, pattern));
  if (matches.empty()) {
    return Error{Code::kNotFound, fmt::format("no Python process has a command line that matches '{}'", query.pattern),
                 "`ptrace-prof ps` lists the Python processes; --wait waits for one to appear"};
  }
  if (matches.size() > 1) {
    return Ambiguous(matches, query.pattern);
  }
  v1::CaptureSpec& spec = *task.mutable_spec();
  spec.mutable_target()->set_pid(matches[0].pid.value);
  spec.mutable_target()->set_start_time_ticks(TicksOf(matches[0].start_time));
  spec.mutable_sample()->set_wait_for_python(query.wait.has_value());  // Python may have just started in it
  return {};
}

}  // namespace ptrace_prof
