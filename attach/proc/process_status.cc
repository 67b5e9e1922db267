// ParseProcessStatus: the text of /proc/<pid>/status.
#include <charconv>
#include <string>

#include "attach/proc/proc_stat.h"
#include "attach/proc/procfs.h"

namespace ptrace_prof {
namespace {

// The kernel writes a newline in the name as \n and a backslash as \\ (proc_task_name).
std::string UnescapeName(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && (text[i + 1] == 'n' || text[i + 1] == '\\')) {
      plain.push_back(text[++i] == 'n' ? '\n' : '\\');
    } else {
      plain.push_back(text[i]);
    }
  }
  return plain;
}

int64_t FirstNumber(std::string_view text) {
  int64_t first = 0;
  bool seen = false;
  ForEachNumber(text, [&](int64_t number) {
    first = seen ? first : number;
    seen = true;
  });
  return first;
}

// "  8192 kB", in bytes.
uint64_t Kibibytes(std::string_view text) { return static_cast<uint64_t>(FirstNumber(text)) << 10; }

Pid PidIn(std::string_view text) { return Pid(static_cast<int32_t>(FirstNumber(text))); }

// "real effective saved fs".
void ReadIds(std::string_view text, uint32_t* const (&ids)[4]) {
  size_t index = 0;
  ForEachNumber(text, [&](int64_t number) {
    if (index < 4) {
      *ids[index++] = static_cast<uint32_t>(number);
    }
  });
}

// The values of the lines, and which lines were present.
struct Lines {
  ProcessStatus status;
  bool state_seen = false;
  bool tgid_seen = false;
  bool memory_seen = false;
  bool kthread_seen = false;
};

struct LineRule {
  std::string_view key;
  void (*apply)(std::string_view value, Lines& to);
};

constexpr LineRule kRules[] = {
    {"Name", [](std::string_view v, Lines& to) { to.status.name = UnescapeName(v); }},
    {"State",
     [](std::string_view v, Lines& to) {
       to.state_seen = !v.empty();
       to.status.state = v.empty() ? '?' : v.front();
     }},
    {"Tgid",
     [](std::string_view v, Lines& to) {
       to.status.tgid = PidIn(v);
       to.tgid_seen = to.status.tgid.value > 0;
     }},
    {"PPid", [](std::string_view v, Lines& to) { to.status.ppid = PidIn(v); }},
    {"TracerPid", [](std::string_view v, Lines& to) { to.status.tracer = PidIn(v); }},
    {"Uid",
     [](std::string_view v, Lines& to) {
       auto& s = to.status;
       ReadIds(v, {&s.uid_real, &s.uid_effective, &s.uid_saved, &s.uid_fs});
     }},
    {"Gid",
     [](std::string_view v, Lines& to) {
       auto& s = to.status;
       ReadIds(v, {&s.gid_real, &s.gid_effective, &s.gid_saved, &s.gid_fs});
     }},
    {"NSpid",
     [](std::string_view v, Lines& to) {
       to.status.ns_pids.clear();
       ForEachNumber(v, [&](int64_t number) { to.status.ns_pids.push_back(static_cast<int32_t>(number)); });
     }},
    {"Kthread",
     [](std::string_view v, Lines& to) {
       to.kthread_seen = true;
       to.status.kernel_thread = FirstNumber(v) != 0;
     }},
    {"VmSize",
     [](std::string_view v, Lines& to) {
       to.memory_seen = true;
       to.status.memory_size = Kibibytes(v);
     }},
    {"VmData", [](std::string_view v, Lines& to) { to.status.memory_data = Kibibytes(v); }},
    {"VmLck", [](std::string_view v, Lines& to) { to.status.memory_locked = Kibibytes(v); }},
    {"CapEff", [](std::string_view v,
                  Lines& to) { std::from_chars(v.data(), v.data() + v.size(), to.status.cap_effective, 16); }},
    {"SigCgt", [](std::string_view v,
                  Lines& to) { std::from_chars(v.data(), v.data() + v.size(), to.status.caught_signals, 16); }},
    {"Seccomp", [](std::string_view v, Lines& to) { to.status.seccomp_mode = static_cast<int>(FirstNumber(v)); }},
    {"Seccomp_filters",
     [](std::string_view v, Lines& to) { to.status.seccomp_filters = static_cast<uint64_t>(FirstNumber(v)); }},
};

void ApplyLine(std::string_view line, Lines& to) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    return;
  }
  const std::string_view key = line.substr(0, colon);
  std::string_view value = line.substr(colon + 1);
  if (value.starts_with('\t')) {
    value.remove_prefix(1);
  }
  for (const LineRule& rule : kRules) {
    if (rule.key == key) {
      rule.apply(value, to);
      return;
    }
  }
}

}  // namespace

std::optional<ProcessStatus> ParseProcessStatus(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    ApplyLine(text.substr(0, newline), lines);
    text.remove_prefix(newline == std::string_view::npos ? text.size() : newline + 1);
  }
  if (!lines.state_seen || !lines.tgid_seen) {
    return std::nullopt;
  }
  // Kernels before 6.8 have no "Kthread" line: a task without memory that has not ended is a kernel thread.
  if (!lines.kthread_seen) {
    const bool ended = lines.status.state == 'Z' || lines.status.state == 'X';
    lines.status.kernel_thread = !lines.memory_seen && !ended;
  }
  return std::move(lines.status);
}

}  // namespace ptrace_prof
