#include "daemon/collector/inspect/process_scan.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "attach/base/base_name.h"
#include "attach/proc/cgroup_facts.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kPythonNames[] = {"python", "pypy"};
constexpr size_t kMapsLimit = 4 << 20;
constexpr size_t kArgumentLimit = 16 << 10;  // limit for the path of a program
// Limit of the shown command line: a user with thousands of processes must not make a listing too large for everyone.
constexpr size_t kCmdlineLimit = 1 << 10;

std::vector<std::string> Words(std::string_view text) {
  std::vector<std::string> words;
  const bool cut = text.size() >= kCmdlineLimit;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (cut) {
    words.emplace_back("…");
  }
  return words;
}

void NoteTracer(const ProcessStatus& status, ProcessEntry& entry) {
  if (status.tracer.value == 0) {
    return;
  }
  const Result<ProcessStatus> tracer = ReadProcessStatus(status.tracer);
  entry.reason = Reason::kAlreadyTraced;
  entry.cause = "it is traced by process " + std::to_string(status.tracer.value) + " (" +
                (tracer.has_value() ? tracer.value().name : "name unknown") +
                "): its threads cannot be stopped for a sample, so more samples are incomplete";
  entry.remedy = "end that debugger or tracer to get complete stacks";
}

Candidate Describe(Pid pid, const ProcessStatus& status, CandidateKind kind) {
  Candidate candidate{kind, Gid(status.gid_real), {}};
  ProcessEntry& entry = candidate.entry;
  entry.pid = pid;
  entry.ns_pid = status.ns_pids.empty() ? pid : Pid(status.ns_pids.back());
  entry.parent_pid = status.ppid;
  entry.uid = Uid(status.uid_real);
  entry.name = status.name;
  NoteTracer(status, entry);
  if (const auto start = ReadStartTime(pid); start.has_value()) {
    entry.start_time = start.value();
  }
  if (const auto text = ReadProcFile(ProcPath(pid, "cmdline"), kCmdlineLimit); text.has_value()) {
    entry.cmdline = Words(text.value());
  }
  if (const auto text = ReadProcFile(ProcPath(pid, "cgroup")); text.has_value()) {
    CgroupFacts facts = ParseCgroup(text.value());
    entry.container_runtime = std::move(facts.container_runtime);
    entry.container = std::move(facts.container);
    entry.slurm_job = std::move(facts.slurm_job);
    entry.slurm_step = std::move(facts.slurm_step);
  }
  if (entry.container_runtime.empty() && status.ns_pids.size() > 1) {
    entry.container_runtime = "namespace";  // a pid namespace; its creator left no other trace
  }
  return candidate;
}

class Scan {
 public:
  void Look(Pid pid) {
    const Result<std::string> maps = ReadProcFile(ProcPath(pid, "maps"), kMapsLimit);
    if (maps.has_error()) {
      if (maps.error().code == Code::kPermissionDenied) {
        LookByName(pid, CandidateKind::kUnreadable);
      }
    } else if (maps.value().empty()) {
      LookByName(pid, CandidateKind::kEnded);
    } else if (MapsMentionPython(maps.value())) {
      Add(pid, CandidateKind::kMapsPython);
    } else {
      LookAtProgram(pid);
    }
  }

  ScanResult Take() { return std::move(result_); }

 private:
  // For a process without visible mappings. None: kernel threads and zombies. Not shown: it may be anything.
  void LookByName(Pid pid, CandidateKind kind) {
    const Result<ProcessStatus> status = ReadProcessStatus(pid);
    if (status.has_error() || status.value().kernel_thread ||
        (kind == CandidateKind::kEnded && status.value().state != 'Z')) {
      return;
    }
    bool named = NamesPython(status.value().name);
    if (!named && kind == CandidateKind::kUnreadable) {
      const auto text = ReadProcFile(ProcPath(pid, "cmdline"), kArgumentLimit);
      named =
          text.has_value() && NamesPython(BaseName(std::string_view(text.value()).substr(0, text.value().find('\0'))));
    }
    if (!named) {
      result_.hidden += kind == CandidateKind::kUnreadable ? 1 : 0;
      return;
    }
    const bool zombie = status.value().state == 'Z';
    result_.candidates.push_back(Describe(pid, status.value(), zombie ? CandidateKind::kEnded : kind));
  }

  void LookAtProgram(Pid pid) {
    struct stat program {};
    struct stat process {};
    if (::stat(ProcPath(pid, "exe").c_str(), &program) != 0 || ::stat(ProcPath(pid, "").c_str(), &process) != 0) {
      return;  // it ended, or cannot be examined for another reason
    }
    std::vector<Pid>& known = result_.programs[{program.st_dev, program.st_ino, Uid(process.st_uid)}];
    known.push_back(pid);
    if (known.size() == 1) {
      Add(pid, CandidateKind::kUnknownProgram);
    }
  }

  void Add(Pid pid, CandidateKind kind) {
    if (Result<Candidate> candidate = DescribeCandidate(pid, kind); candidate.has_value()) {
      result_.candidates.push_back(std::move(candidate).value());
    }
  }

  ScanResult result_;
};

}  // namespace

bool NamesPython(std::string_view text) {
  return std::ranges::any_of(kPythonNames,
                             [&](std::string_view name) { return text.find(name) != std::string_view::npos; });
}

bool MapsMentionPython(std::string_view maps) {
  for (const std::string_view name : kPythonNames) {
    for (size_t at = maps.find(name); at != std::string_view::npos; at = maps.find(name, at + 1)) {
      const size_t slash = maps.find_first_of("/\n", at);
      if (slash == std::string_view::npos || maps[slash] == '\n') {
        return true;  // in the last part of the path
      }
    }
  }
  return false;
}

Result<Candidate> DescribeCandidate(Pid pid, CandidateKind kind) {
  PP_ASSIGN_OR_RETURN(const ProcessStatus status, ReadProcessStatus(pid));
  return Describe(pid, status, kind);
}

Result<ScanResult> ScanProcesses() {
  PP_ASSIGN_OR_RETURN(const std::vector<int32_t> pids, ListNumericEntries("/proc"));
  const Pid ourselves(::getpid());
  Scan scan;
  for (const int32_t pid : pids) {
    if (Pid(pid) != ourselves) {
      scan.Look(Pid(pid));
    }
  }
  return scan.Take();
}

}  // namespace ptrace_prof
