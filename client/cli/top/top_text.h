// The words of `top`, the same on a screen and in plain text: one line for each row, the headings, the totals.
//
// Pure functions. Everything they return is printable.
#pragma once

#include <string>

#include "client/cli/top/top_model.h"

namespace ptrace_prof {

// "functions", "lines", "threads", "processes": as --by takes them.
std::string_view NameOf(TopView view);
std::string_view NameOf(TopSort sort);

// The heading of the columns, with a mark at the one that the rows are sorted by (-: reversed).
std::string TopHeading(const TopQuery& query);
// The numbers of a row and what it is about. A file is cut at its beginning to fit into `width`; 0: never.
std::string TopRowText(const TopRow& row, TopView view, size_t width = 0);

// "process 4711: python3 train.py, CPython 3.11.7"
std::string TopTargetText(const TopModel& model, Pid pid);
// "2,000 samples in 20.0 s at 100 Hz, 3 threads; truncated 0 %, lost 0"
std::string TopTotalsText(const TopModel& model);

}  // namespace ptrace_prof
