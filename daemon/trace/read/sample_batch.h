// What was seen of a target in one interval: for each thread how often which stack, and what happened to the rest.
//
// Pure data, complete in itself: strings, frames and stacks are numbered by tables inside the batch, so that it is
// small and can be sent anywhere. Made by SampleBatcher, which promises that every index is in range, parents before
// children; who takes a batch from elsewhere checks that with Valid() first. All text is the target's and not yet
// printable.
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
    bool holds_gil = false;                     // likewise
    Nanos gil_time;                             // of the interval, how long it held the GIL
    std::vector<StackCount> stacks;             // each stack once
  };
  struct Counters {
    uint64_t samples = 0;  // those in `threads` and the thinned ones
    std::array<uint64_t, kSampleQualityCount> by_quality{};
    uint64_t thinned = 0;  // left out: the receiver was slow, or there was more than a batch holds
    uint64_t lost = 0;     // stacks that could not be read at all, or made no sense when they arrived
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
  std::vector<Process> processes;  // all that have a thread here, and those that are new
  std::vector<Thread> threads;     // all that have a sample here or changed their state
  Counters counters;

  // Calls visit(frame) for every frame of a stack, leaf first.
  template <typename Visit>
  void ForEachFrame(uint32_t stack, Visit visit) const {
    for (; stack != 0; stack = stacks[stack - 1].parent) {
      visit(frames[stacks[stack - 1].frame]);
    }
  }

  // Every index points to something, and every stack ends.
  bool Valid() const;
};

}  // namespace ptrace_prof
