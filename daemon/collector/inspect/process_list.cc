#include "daemon/collector/inspect/process_list.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "attach/proc/access_diagnosis.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/inspect/examination.h"
#include "daemon/collector/inspect/process_scan.h"

namespace ptrace_prof {
namespace {

// After so many children of one user died or hung, the rest of the user's processes are skipped.
constexpr int kMostFailures = 3;

using Owner = std::pair<Uid, Gid>;
using Group = std::vector<const Candidate*>;

bool HaveMoreRights() {
  const Result<ProcessStatus> self = ReadProcessStatus(Pid(::getpid()));
  return self.has_value() && (self.value().cap_effective & kCapSysPtrace) != 0;
}

class Listing {
 public:
  Listing(const RunAs& run_as, const std::atomic<bool>& stop)
      : run_as_(run_as), stop_(stop), asker_(CurrentAsker()), more_rights_(HaveMoreRights()) {}

  Result<void> Run(TraceWriter& writer) {
    PP_ASSIGN_OR_RETURN(const ScanResult scan, ScanProcesses());
    ExamineAll(scan.candidates);
    const std::vector<Candidate> followers = Followers(scan);
    ExamineAll(followers);
    std::ranges::sort(entries_, {}, &ProcessEntry::pid);
    for (const ProcessEntry& entry : entries_) {
      writer.AddProcessEntry(entry);
    }
    if (scan.hidden != 0) {
      writer.AddCheck(HiddenProcesses(scan.hidden));
    }
    return {};
  }

 private:
  Check HiddenProcesses(uint32_t count) const {
    return {{},
            "hidden-processes",
            Verdict::kLimited,
            fmt::format("{} {} could not be checked; if Python runs there under another name, it is missing here",
                        count, count == 1 ? "process" : "processes of other users"),
            more_rights_ ? "" : "run with sudo to see more"};
  }

  void ExamineAll(const std::vector<Candidate>& candidates) {
    std::map<Owner, Group> groups;
    for (const Candidate& candidate : candidates) {
      // Root without CAP_SYS_PTRACE (in a container) may still become the owner and read it that way.
      const bool out_of_reach = candidate.kind == CandidateKind::kUnreadable && !asker_.is_root;
      if (candidate.kind == CandidateKind::kEnded || out_of_reach) {
        ListUnexamined(candidate);
      } else {
        groups[{candidate.entry.uid, candidate.gid}].push_back(&candidate);
      }
    }
    Group refused;
    for (const auto& [owner, group] : groups) {
      // Only root's own processes may need a kept right; the rights of other owners suffice for theirs.
      const Pid first = group.front()->entry.pid;
      const bool keep = owner.first == Uid(0);
      Examine(
          group, [=] { return keep ? ProbeMemory(first) : 0; },
          more_rights_ ? OnRefusal::kLeaveToOthers : OnRefusal::kReportWhy, refused);
    }
    for (const Candidate* candidate : refused) {
      Group none;
      const Pid pid = candidate->entry.pid;
      Examine(
          {candidate}, [=] { return ProbeMemory(pid); }, OnRefusal::kReportWhy, none);
    }
  }

  void Examine(Group group, const std::function<int()>& probe, OnRefusal on_refusal, Group& refused) {
    while (!group.empty() && !stop_.load(std::memory_order_relaxed)) {
      const Candidate& first = *group.front();
      const OwnerReport report = run_as_({first.entry.uid, first.gid, probe, [&](const auto& denied, ByteSink& sink) {
                                            AnswerAll(group, on_refusal, {denied, asker_}, sink);
                                          }});
      const std::vector<Answer> answers = ReadAnswers(report.bytes, group);
      for (size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].outcome == Outcome::kListed) {
          List(*group[i], answers[i].entry);
        } else if (answers[i].outcome == Outcome::kRefused) {
          refused.push_back(group[i]);
        }
      }
      group.erase(group.begin(), group.begin() + static_cast<ptrdiff_t>(answers.size()));
      if (!group.empty()) {
        ListFailed(*group.front(), report.ended.empty() ? "gave no valid answer" : report.ended);
        group.erase(group.begin());
        ++failures_[first.entry.uid];
      }
      if (failures_[first.entry.uid] >= kMostFailures) {
        for (const Candidate* left : std::exchange(group, {})) {
          ListFailed(*left, "was not started, because several others for the same user failed");
        }
      }
    }
  }

  void List(const Candidate& candidate, ProcessEntry entry) {
    if (candidate.kind == CandidateKind::kUnknownProgram) {
      found_programs_.push_back(entry.pid);
    }
    entries_.push_back(std::move(entry));
  }

  // Lists the process at which a child died.
  void ListFailed(const Candidate& candidate, const std::string& ended) {
    ProcessEntry entry = candidate.entry;
    entry.cause = fmt::format("process {} could not be examined: the helper process for it {}", entry.pid.value, ended);
    entry.reason = Reason::kCollectorFailed;
    entry.remedy = "the target is not affected; `ptrace-prof doctor --pid` may show more";
    if (candidate.kind != CandidateKind::kUnknownProgram) {
      entries_.push_back(std::move(entry));
    }
  }

  void ListUnexamined(const Candidate& candidate) {
    ProcessEntry entry = candidate.entry;
    const bool ended = candidate.kind == CandidateKind::kEnded;
    const Result<void> target = CheckTarget(entry.pid);
    if (target.has_value() && ended) {
      return;  // another process by now
    }
    const Error why = target.has_error() ? target.error() : ExplainRefusal(entry.pid, EACCES, asker_);
    if (why.code == Code::kNotFound || why.code == Code::kGone) {
      return;
    }
    entry.kind = ended ? ProcessKind::kEnded : ProcessKind::kPython;
    entry.cause = why.message;
    entry.reason = ReasonOf(why);
    entry.remedy = why.remedy;
    entries_.push_back(std::move(entry));
  }

  // The other processes of the programs in which a Python was found.
  std::vector<Candidate> Followers(const ScanResult& scan) const {
    std::vector<Candidate> followers;
    for (const auto& [program, pids] : scan.programs) {
      if (std::ranges::find(found_programs_, pids.front()) == found_programs_.end()) {
        continue;
      }
      for (size_t i = 1; i < pids.size(); ++i) {
        Result<Candidate> candidate = DescribeCandidate(pids[i], CandidateKind::kMapsPython);
        if (candidate.has_value()) {
          followers.push_back(std::move(candidate).value());
        }
      }
    }
    return followers;
  }

  const RunAs& run_as_;
  const std::atomic<bool>& stop_;
  const Asker asker_;
  const bool more_rights_;
  std::vector<ProcessEntry> entries_;
  std::vector<Pid> found_programs_;
  std::map<Uid, int> failures_;
};

}  // namespace

Result<void> ListProcesses(const RunAs& run_as, const std::atomic<bool>& stop, TraceWriter& writer) {
  return Listing(run_as, stop).Run(writer);
}

}  // namespace ptrace_prof
