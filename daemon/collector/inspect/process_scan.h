// One pass over /proc that finds the processes worth a closer look: those that map something called python or pypy,
// those that are named so and cannot be looked into, and one process of each executable that nobody has looked at yet
// (a Python may be linked into it).
//
// Reads text of the kernel only, no memory and no file of a target: it may run with all rights of the caller. Names and
// paths in the text are the targets'. For a process that has nothing to do with Python it costs five or six system
// calls.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "daemon/trace/process_entry.h"

namespace ptrace_prof {

enum class CandidateKind : uint8_t {
  kMapsPython,  // a mapped file has python or pypy in its name
  kUnknownProgram,
  kUnreadable,  // the kernel does not show its mappings to us; named after Python
  kEnded,       // a zombie named after Python
};

struct Candidate {
  CandidateKind kind = CandidateKind::kMapsPython;
  Gid gid;
  ProcessEntry entry;  // what text tells: all but python, ranks, GPU libraries and the verdict
};

// The executable of a process of one user: what is learned about one of them holds for all.
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
  uint32_t hidden = 0;  // cannot be looked into and have other names: nobody knows what they are
};

Result<ScanResult> ScanProcesses();

// The text of the candidate's entry, once more for another process. kGone.
Result<Candidate> DescribeCandidate(Pid pid, CandidateKind kind);

// A mapping whose file name has python or pypy in it, in the text of maps.
bool MapsMentionPython(std::string_view maps);

}  // namespace ptrace_prof
