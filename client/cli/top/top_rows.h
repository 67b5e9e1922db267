// The rows of one picture of `top`: a tally in one view, filtered and sorted.
//
// Pure functions. All text in a row comes from the target and is not yet printable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/top/top_counts.h"

namespace ptrace_prof {

enum class TopView : uint8_t { kFunctions, kLines, kThreads, kProcesses };
enum class TopSort : uint8_t { kSelf, kTotal, kName };

// Restricts rows to one process or one thread.
struct TopScope {
  Pid pid;
  Tid tid;  // 0: the whole process
  bool operator==(const TopScope&) const = default;
};

struct TopQuery {
  TopView view = TopView::kFunctions;
  TopSort sort = TopSort::kSelf;
  bool reversed = false;
  std::string filter;  // a part of the row's text; case is ignored
  std::optional<TopScope> scope;
};

struct TopRow {
  uint64_t identity = 0;                      // identifies the row in later pictures of the same view
  std::string name;                           // of the function, thread or process
  std::string file;                           // kFunctions, kLines
  int32_t line = 0;                           // likewise; 0 = unknown
  Pid pid;                                    // kThreads, kProcesses
  Pid parent;                                 // kProcesses
  Tid tid;                                    // kThreads
  std::string command;                        // kProcesses
  ThreadState state = ThreadState::kUnknown;  // kThreads
  bool holds_gil = false;                     // kThreads
  double gil_share = 0;                       // kThreads, kProcesses: share of the time
  uint64_t self = 0;
  uint64_t total = 0;  // kProcesses: including descendants
  double self_share = 0;
  double total_share = 0;
};

std::vector<TopRow> MakeTopRows(const TopNames& names, const TopTally& tally, const TopQuery& query);

// The lines of one source file.
std::map<int32_t, TopCell> CountsOfLines(const TopNames& names, const TopTally& tally,
                                         const std::optional<TopScope>& scope, const std::string& file);

// Ignores the case of ASCII letters.
bool ContainsText(const std::string& text, const std::string& part);

}  // namespace ptrace_prof
