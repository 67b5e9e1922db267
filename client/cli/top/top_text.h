// The texts of `top`, for the screen and for plain text: the rows, the headings, the totals.
//
// Pure functions. Everything they return is printable.
#pragma once

#include <string>

#include "client/cli/top/top_model.h"

namespace ptrace_prof {

// "functions", "lines", "threads", "processes": the values of --by.
std::string_view NameOf(TopView view);
std::string_view NameOf(TopSort sort);

// The column headings, with a mark at the sorted column (-: reversed).
std::string TopHeading(const TopQuery& query);
// The numbers of a row and its name. A file is cut at the front to fit into `width`; 0: never.
std::string TopRowText(const TopRow& row, TopView view, size_t width = 0);

// "process 4711: python3 train.py, CPython 3.11.7"
std::string TopTargetText(const TopModel& model, Pid pid);
// "2,000 samples in 20.0 s at 100 Hz, 3 threads; truncated 0 %, lost 0"
std::string TopTotalsText(const TopModel& model);

}  // namespace ptrace_prof
