#include "attach/proc/proc_stat.h"

namespace ptrace_prof {
namespace {

// proc_pid_stat(5) numbers the fields from 1; the state, 3, is the first one after the name.
constexpr int kStateField = 3;
constexpr int kParentField = 4;
constexpr int kReapedFaultsField = 11;
constexpr int kUserField = 14;  // then: kernel, and both for reaped children
constexpr int kThreadsField = 20;
constexpr int kStartTimeField = 22;

// " S 1 7 …": the text after the name.
std::string_view AfterName(std::string_view text) {
  const size_t bracket = text.rfind(')');
  return bracket == std::string_view::npos ? std::string_view() : text.substr(bracket + 1);
}

}  // namespace

char ParseProcState(std::string_view text) {
  const std::string_view fields = AfterName(text);
  return fields.size() >= 2 && fields[0] == ' ' ? fields[1] : '?';
}

std::optional<ProcStat> ParseProcStat(std::string_view text) {
  ProcStat stat;
  stat.state = ParseProcState(text);
  if (stat.state == '?') {
    return std::nullopt;
  }
  int field = kStateField;
  ForEachNumber(AfterName(text).substr(2), [&](int64_t number) {
    ++field;
    if (field == kParentField) {
      stat.ppid = static_cast<int32_t>(number);
    } else if (field == kReapedFaultsField) {
      stat.reaped_faults = static_cast<uint64_t>(number);
    } else if (field == kUserField || field == kUserField + 1) {
      stat.cpu_ticks += static_cast<uint64_t>(number);
    } else if (field == kUserField + 2 || field == kUserField + 3) {
      stat.reaped_cpu_ticks += static_cast<uint64_t>(number);
    } else if (field == kThreadsField) {
      stat.threads = static_cast<uint32_t>(number);
    } else if (field == kStartTimeField) {
      stat.start_ticks = static_cast<uint64_t>(number);
    }
  });
  return field >= kStartTimeField ? std::optional(stat) : std::nullopt;
}

}  // namespace ptrace_prof
