#include "daemon/server/captures/stop_shares.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace ptrace_prof {
namespace {

constexpr int kDeepest = 256;  // chain of parents
constexpr size_t kMostShares = 255;

bool Stops(const CaptureTask& one) {
  return one.verb() == CaptureTask::RECORD && one.spec().mode() != v1::MODE_TRACE &&
         StopsOf(one.spec().sample()) != StopPolicy::kNone;
}

bool IsAncestor(Pid ancestor, const std::vector<Pid>& chain) {
  return std::ranges::find(chain, ancestor) != chain.end();
}

}  // namespace

// proc(5): "PID (name) state ppid …". A name may contain any character except a newline.
Pid ParentInProc(Pid pid) {
  std::ifstream file("/proc/" + std::to_string(pid.value) + "/stat");
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(") ");
  return name_end == std::string::npos || line.size() < name_end + 4 ? Pid()
                                                                     : Pid(std::atoi(line.c_str() + name_end + 4));
}

void ShareStopsAmong(std::vector<std::shared_ptr<CaptureSession>> captures) {
  std::erase_if(captures, [](const auto& session) { return HasEnded(session->Snapshot().state); });
  std::vector<const CaptureTask*> requests;
  std::ranges::transform(captures, std::back_inserter(requests),
                         [](const auto& session) { return &session->parameters().request; });
  const std::vector<uint8_t> meeting = MeetingCaptures(requests, ParentInProc);
  for (size_t i = 0; i < captures.size(); ++i) {
    captures[i]->ShareStops(meeting[i]);
  }
}

std::vector<uint8_t> MeetingCaptures(std::span<const CaptureTask* const> captures, const ParentOf& parent) {
  std::vector<std::vector<Pid>> chains;  // the target and its ancestors
  for (const CaptureTask* one : captures) {
    std::vector<Pid>& chain = chains.emplace_back();
    if (captures.size() > 1 && Stops(*one)) {
      for (Pid at = TargetOf(*one); at.value > 1 && chain.size() < kDeepest; at = parent(at)) {
        chain.push_back(at);
      }
    }
  }
  std::vector<uint8_t> meeting;
  for (size_t i = 0; i < captures.size(); ++i) {
    size_t count = 1;
    for (size_t k = 0; Stops(*captures[i]) && k < captures.size(); ++k) {
      const CaptureTask& mine = *captures[i];
      const CaptureTask& other = *captures[k];
      const bool meets = TargetOf(mine) == TargetOf(other) ||
                         (!mine.spec().sample().no_subprocesses() && IsAncestor(TargetOf(mine), chains[k])) ||
                         (!other.spec().sample().no_subprocesses() && IsAncestor(TargetOf(other), chains[i]));
      count += k != i && Stops(other) && meets ? 1 : 0;
    }
    meeting.push_back(static_cast<uint8_t>(std::min(count, kMostShares)));
  }
  return meeting;
}

}  // namespace ptrace_prof
