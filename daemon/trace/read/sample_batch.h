// The samples of one interval: for each thread the counted stacks, and counters for what is missing.
//
// Plain data, complete in itself: strings, frames and stacks are numbered by tables in the batch, so it is small and
// can be sent anywhere. In a batch from SampleBatcher every index is in range, and parents precede children; check a
// batch from elsewhere with Valid() first. All text comes from the target and must be cleaned before it is printed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/base/types.h"
#include "daemon/trace/model.h"
#include "daemon/trace/stack_table.h"

namespace ptrace_prof {

struct SampleBatch {
  struct Frame {
    uint32_t function = 0;  // into strings
    uint32_t file = 0;      // into strings
    int32_t line = 0;       // 1-based; 0 = unknown
    int32_t first_line = 0;
    FrameKind kind = FrameKind::kPython;
    bool operator==(const Frame&) const = default;
  };
  // Number 0 is the empty stack; number n is stacks[n - 1] on top of its parent.
  struct Stack {
    uint32_t parent = 0;
    uint32_t frame = 0;  // the leaf, into frames
  };
  struct StackCount {
    uint32_t stack = 0;
    uint64_t count = 0;
  };
  struct Process {
    Pid pid;
    Pid parent_pid;
    std::string name;
    std::string command;  // the beginning of the command line
    std::string python;   // "3.11.7", "3.14.2 free-threaded"
  };
  struct Thread {
    Pid pid;
    Tid tid;
    std::string name;
    bool is_main = false;
    ThreadState state = ThreadState::kUnknown;  // at the end of the interval
    bool holds_gil = false;                     // at the end of the interval
    Nanos gil_time;                             // how long it held the GIL in the interval
    std::vector<StackCount> stacks;             // each stack once
  };
  struct Counters {
    uint64_t samples = 0;  // those in `threads` and the thinned ones
    std::array<uint64_t, kSampleQualityCount> by_quality{};
    uint64_t thinned = 0;  // left out: the receiver was slow, or the batch was full
    uint64_t lost = 0;     // stacks that could not be read at all, or were invalid when received
    uint64_t missed = 0;   // sampling instants that were left out
    Nanos collector_cpu;   // used in the interval
    double actual_rate_hz = 0;
    uint64_t Of(SampleQuality quality) const { return by_quality[static_cast<size_t>(quality)]; }
  };

  Nanos begin;  // CLOCK_MONOTONIC of the target's host, when the samples arrived
  Nanos end;
  std::vector<std::string> strings;
  std::vector<Frame> frames;
  std::vector<Stack> stacks;
  std::vector<Process> processes;  // all that have a thread here, and new ones
  std::vector<Thread> threads;     // all that have a sample here or changed their state
  Counters counters;

  // Calls visit(frame) for every frame of a stack, leaf first.
  template <typename Visit>
  void ForEachFrame(uint32_t stack, Visit visit) const {
    for (; stack != 0; stack = stacks[stack - 1].parent) {
      visit(frames[stacks[stack - 1].frame]);
    }
  }

  // Whether every index is in range and every stack ends.
  bool Valid() const;
};

}  // namespace ptrace_prof
