// A dump for reading: processes, their threads, their stacks, the most recent call first. Threads that do the same
// at the same place are printed once, unless told otherwise. Output is fit for a terminal. Pure functions.
#pragma once

#include <span>
#include <string>

#include "daemon/trace/read/thread_dump.h"

namespace ptrace_prof {

enum class Grouping : uint8_t { kSameStacks, kNone };

std::string DumpText(std::span<const DumpedProcess> processes, Grouping grouping);
// "running", "idle in epoll_wait", "waits for the GIL".
std::string StateText(ThreadState state, std::string_view detail);
// "train.py:12:5-17": columns from 1, where they are known.
std::string PlaceText(const Frame& frame);

}  // namespace ptrace_prof
