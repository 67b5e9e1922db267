#include "client/cli/inspect/dump_text.h"

#include <fmt/format.h>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

struct StateWord {
  ThreadState state;
  std::string_view alone;
  std::string_view with_detail;
};
constexpr StateWord kStateWords[] = {
    {ThreadState::kUnknown, "state unknown", "state unknown, in "},
    {ThreadState::kRunning, "running", "running, in "},
    {ThreadState::kGilWait, "waits for the GIL", "waits for the GIL, in "},
    {ThreadState::kIdle, "idle", "idle in "},
    {ThreadState::kGpuWait, "waits for the GPU", "waits for the GPU in "},
    {ThreadState::kDiskWait, "uninterruptible wait", "uninterruptible wait in "},
    {ThreadState::kJobStopped, "stopped", "stopped by "},
};

struct QualityWord {
  SampleQuality quality;
  std::string_view note;
};
constexpr QualityWord kQualityNotes[] = {
    {SampleQuality::kTruncated, "the rest of this stack could not be read"},
    {SampleQuality::kTooDeep, "deeper than --max-depth"},
    {SampleQuality::kTorn, "the rest of this stack changed while it was read without a stop"},
    {SampleQuality::kStaleNames, "code of this stack was freed before its name could be read"},
};

bool SameStory(const DumpedThread& a, const DumpedThread& b) {
  return a.frames == b.frames && a.state == b.state && a.detail == b.detail && a.holds_gil == b.holds_gil &&
         a.quality == b.quality && a.locals.empty() && b.locals.empty();
}

std::string ThreadTitle(const DumpedThread& thread) {
  std::string title = fmt::format("{} \"{}\"", thread.info.tid.value, CleanText(thread.info.name));
  if (thread.info.ns_tid.value != 0 && thread.info.ns_tid != thread.info.tid) {
    title += fmt::format(" ({} in its container)", thread.info.ns_tid.value);
  }
  if (thread.info.interpreter_id != 0) {
    title += fmt::format(" (interpreter {})", thread.info.interpreter_id);
  }
  return title;
}

void AppendStack(const DumpedThread& thread, std::string& text) {
  if (thread.frames.empty()) {
    text += thread.was_read ? "    (no Python frame: native code)\n"
                            : "    (its stack could not be read: it changed during the read)\n";
  }
  for (uint32_t i = 0; i < thread.frames.size(); ++i) {
    const Frame& frame = thread.frames[i];
    if (frame.kind == FrameKind::kMarker) {
      text += fmt::format("    {}\n", CleanText(frame.function));
      continue;
    }
    text += fmt::format("    {} ({})\n", CleanText(frame.function), PlaceText(frame));
    if (const auto locals = thread.locals.find(i); locals != thread.locals.end()) {
      for (const LocalVariable& local : locals->second) {
        text += fmt::format("        {}{} = {}\n", local.is_argument ? "arg " : "", CleanText(local.name),
                            CleanText(local.value));
      }
    }
  }
  for (const QualityWord& row : kQualityNotes) {
    if (thread.was_read && row.quality == thread.quality) {
      text += fmt::format("    note: {}\n", row.note);
    }
  }
}

void AppendGroup(const std::vector<const DumpedThread*>& group, std::string& text) {
  const DumpedThread& first = *group.front();
  const std::string state = StateText(first.state, first.detail) + (first.holds_gil ? ", holds the GIL" : "");
  if (group.size() == 1) {
    text += fmt::format("\nThread {}: {}\n", ThreadTitle(first), state);
  } else {
    text += fmt::format("\n{} threads: {}\n", group.size(), state);
    for (const DumpedThread* thread : group) {
      text += fmt::format("  Thread {}\n", ThreadTitle(*thread));
    }
  }
  AppendStack(first, text);
}

std::vector<std::vector<const DumpedThread*>> GroupsOf(const DumpedProcess& process, Grouping grouping) {
  std::vector<std::vector<const DumpedThread*>> groups;
  for (const DumpedThread& thread : process.threads) {
    bool placed = false;
    for (auto& group : groups) {
      if (grouping == Grouping::kSameStacks && SameStory(*group.front(), thread)) {
        group.push_back(&thread);
        placed = true;
        break;
      }
    }
    if (!placed) {
      groups.push_back({&thread});
    }
  }
  return groups;
}

std::string ProcessTitle(const ProcessInfo& process) {
  std::string command;
  for (const std::string& word : process.cmdline) {
    command += fmt::format("{}{}", command.empty() ? "" : " ", word);
  }
  std::string title = fmt::format("Process {}", process.pid.value);
  if (process.ns_pid.value != 0 && process.ns_pid != process.pid) {
    title += fmt::format(" ({} in its container)", process.ns_pid.value);
  }
  return fmt::format("{}: {}\nPython {}; the most recent call is first\n", title,
                     CleanText(command.empty() ? process.name : command), CleanText(process.python));
}

}  // namespace

std::string StateText(ThreadState state, std::string_view detail) {
  for (const StateWord& row : kStateWords) {
    if (row.state == state) {
      return detail.empty() ? std::string(row.alone) : std::string(row.with_detail) + CleanText(detail);
    }
  }
  return "state unknown";
}

std::string PlaceText(const Frame& frame) {
  std::string place = CleanText(frame.file);
  if (frame.line <= 0) {
    return place;
  }
  place += fmt::format(":{}", frame.line);
  if (frame.column < 0) {
    return place;
  }
  place += fmt::format(":{}", frame.column + 1);
  if (frame.end_column >= 0 && frame.end_line > frame.line) {
    place += fmt::format("-{}:{}", frame.end_line, frame.end_column);
  } else if (frame.end_column > frame.column + 1) {
    place += fmt::format("-{}", frame.end_column);
  }
  return place;
}

std::string DumpText(std::span<const DumpedProcess> processes, Grouping grouping) {
  std::string text;
  for (const DumpedProcess& process : processes) {
    if (!text.empty()) {
      text += '\n';
    }
    text += ProcessTitle(process.info);
    for (const auto& group : GroupsOf(process, grouping)) {
      AppendGroup(group, text);
    }
  }
  return text;
}

}  // namespace ptrace_prof
