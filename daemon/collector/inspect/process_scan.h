// One pass over /proc that finds the processes worth a closer look: those that map a file named python or pypy, those
// with such a name that cannot be examined, and one process of each other executable (a Python may be linked into it).
//
// Reads only text of the kernel, no memory and no file of a target, so it may run with all rights of the caller. Names
// and paths in the text come from the targets. A process that has nothing to do with Python costs five or six system
// calls.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/process_entry.h"

namespace ptrace_prof {

// Whether a file or process name suggests a Python.
bool NamesPython(std::string_view text);

enum class CandidateKind : uint8_t {
  kMapsPython,  // a mapped file has python or pypy in its name
  kUnknownProgram,
  kUnreadable,  // named after Python; the kernel does not show us its mappings
  kEnded,       // a zombie named after Python
};

struct Candidate {
  CandidateKind kind = CandidateKind::kMapsPython;
  Gid gid;
  ProcessEntry entry;  // filled from text: all except python, ranks, GPU libraries and the verdict
};

// The executable of processes of one user. What is learned about one of them holds for all.
struct Program {
  uint64_t device = 0;
  uint64_t inode = 0;
  Uid uid;
  auto operator<=>(const Program&) const = default;
};

struct ScanResult {
  std::vector<Candidate> candidates;
  // All processes that run a program of kUnknownProgram; the first is the candidate.
  std::map<Program, std::vector<Pid>> programs;
  uint32_t hidden = 0;  // processes with other names that cannot be examined
};

Result<ScanResult> ScanProcesses();

// Fills the entry of another process from text. kGone.
Result<Candidate> DescribeCandidate(Pid pid, CandidateKind kind);

// Whether a mapping in the text of /proc/<pid>/maps has python or pypy in its file name.
bool MapsMentionPython(std::string_view maps);

}  // namespace ptrace_prof
