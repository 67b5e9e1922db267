// A dump as text: processes, their threads, and their stacks, the most recent call first. Threads with the same state
// and stack are printed once by default. The text is safe to print on a terminal. Pure functions.
#pragma once

#include <span>
#include <string>

#include "daemon/trace/read/thread_dump.h"

namespace ptrace_prof {

enum class Grouping : uint8_t { kSameStacks, kNone };

std::string DumpText(std::span<const DumpedProcess> processes, Grouping grouping);
// "running", "idle in epoll_wait", "waits for the GIL".
std::string StateText(ThreadState state, std::string_view detail);
// "train.py:12:5-17": columns count from 1 and are shown if known.
std::string PlaceText(const Frame& frame);

}  // namespace ptrace_prof
