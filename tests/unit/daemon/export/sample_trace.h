// A small synthetic trace with a bit of everything, the same bytes every time: the input of the exporters' tests.
//
// Two processes, three threads: recursion, lines of one function, a native thread, idle time, hostile names, a
// truncated stack. Equal to what the collector would write.
#pragma once

#include <string>
#include <vector>

namespace ptrace_prof {

std::string SampleTrace();
// A trace whose strings attack terminals, pages and parsers.
std::string HostileTrace();
// `seconds` of one busy thread at 1 kHz, its stack different at nearly every sample.
std::string LongTrace(int seconds);

// Exact calls of two threads with a bit of everything: recursion, a C function, a generator, an exception, lost events,
// a call that is cut, steps. Times are exact to the nanosecond.
std::string CallTrace();

// An empty process for each of these ranks, of 4; -1: a process without a rank.
std::string TraceOfRanks(const std::vector<int>& ranks);

// Half a second of a thread that trains, together with counters of a GPU.
std::string GpuTrace();

}  // namespace ptrace_prof
