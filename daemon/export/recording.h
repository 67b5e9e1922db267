// The facts about a recording apart from samples: its processes and threads, its settings, its quality, and its end.
//
// Collected by SpanFeed while the trace is read, and shown by every exporter. Plain data.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/export/counter_series.h"
#include "daemon/trace/gpu.h"
#include "daemon/trace/model.h"
#include "daemon/trace/read/trace_reader.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

struct RecordedThread {
  ThreadInfo info;
  bool selected = true;  // passes the filters
  uint64_t samples = 0;  // exported; for exact calls the stretches, each begun once
  Nanos first;
  Nanos last;
};

struct RecordedStep {
  TrackId track;
  Nanos begin;
  Nanos end;
  uint64_t number = 0;
};

struct Recording {
  std::optional<CaptureTask> request;
  std::map<std::string, std::string> metadata;  // what users say of it
  std::optional<Nanos> clock_offset;            // from CLOCK_MONOTONIC to the time of day
  uint64_t captures = 0;                        // number of captures concatenated in the file
  std::map<Pid, ProcessInfo> processes;
  std::set<std::pair<Pid, Nanos>> started;  // pid and start of each: pids of two hosts may be equal
  std::vector<RecordedThread> threads;      // by TrackId
  std::vector<RecordedStep> steps;
  std::vector<CounterSeries> counters;  // by CounterId
  std::vector<GpuDevice> gpu_devices;
  std::vector<GpuQueue> gpu_queues;                                  // by GpuQueueId
  std::map<std::pair<uint64_t, Pid>, GpuAccounting> gpu_accounting;  // by capture
  uint64_t operators = 0;                                            // of PyTorch, in selected threads
  uint64_t gpu_operations = 0;                                       // exported
  Nanos gpu_first;
  Nanos gpu_last;
  std::optional<Accounting> accounting;  // of all captures together
  bool costs_differ = false;             // the cost of a call event differs between captures
  std::optional<EndInfo> end;            // of the last capture
  std::vector<std::string> notices;
  bool exact = false;  // calls were traced: weights are nanoseconds, not samples
  uint64_t calls = 0;  // exact calls begun within the recording
  uint64_t samples = 0;
  uint64_t filtered = 0;
  std::array<uint64_t, kSampleQualityCount> by_quality{};  // of the exported samples
  Nanos first;
  Nanos last;
  uint64_t skipped = 0;
  bool cut = false;

  // Threads with samples, in order of process, main thread first, then by tid.
  std::vector<TrackId> ThreadsInOrder() const;
  bool HasSeveralProcesses() const;
};

// Whether operators of PyTorch may be recorded: they may still come.
bool MayHaveOperators(const Recording& recording);
bool MayHaveGpu(const Recording& recording);
// "train.py": `wanted` if it is set, else the command line of the first process.
std::string TitleOf(const Recording& recording, std::string_view wanted);
std::string CommandLine(const ProcessInfo& process);
std::string ProcessLabel(const Recording& recording, Pid pid);  // "python3 (pid 71)"
std::string ThreadLabel(const RecordedThread& thread);          // "MainThread (tid 71)"

// Name and value of each fact for the header, in order: "samples" → "1,234".
std::vector<std::pair<std::string, std::string>> FactsOf(const Recording& recording);
// Sentences about the limits of this recording, and its collector's notices. Empty if there is nothing to report.
std::vector<std::string> CautionsOf(const Recording& recording);

}  // namespace ptrace_prof
