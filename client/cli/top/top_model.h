// The content of `top` without its display: takes batches, keeps the sums of the last seconds and of the whole, and
// returns rows.
//
//   batches ──► sliding window ──┐ chosen by since_start()      query (view, sort, filter, scope)
//          └──► since the start ─┴──► frozen while paused ──► rows(), of which one is selected
//
// While paused, the picture is frozen: new batches are counted and shown afterwards; view, order and filter of the
// frozen picture can still be changed. Bounded memory (top_counts.h). Pure: no clock, no terminal. One owner, one
// thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/top/top_rows.h"

namespace ptrace_prof {

class TopModel {
 public:
  explicit TopModel(Nanos window) : window_length_(window) {}
  TopModel(Nanos window, const TopNames::Limits& limits) : window_length_(window), names_(limits) {}

  // False: the batch was invalid and was ignored.
  bool Add(const SampleBatch& batch);

  const TopQuery& query() const { return query_; }
  void SetQuery(const TopQuery& query);
  void SetView(TopView view);
  void SetSort(TopSort sort);  // the current one again: reverses the order
  void SetFilter(std::string filter);
  void SetScope(std::optional<TopScope> scope);
  bool paused() const { return frozen_ != nullptr; }
  void TogglePause();
  bool since_start() const { return since_start_; }
  void ToggleSinceStart();
  void ClearCounts();

  const std::vector<TopRow>& rows() const;
  // Index into rows(), 0 if there are none. Follows the selected row when the order changes.
  size_t selected() const;
  const TopRow* selected_row() const;
  void MoveSelection(int rows);
  // Goes from a thread or process to its functions. False if the selected row is neither.
  bool Enter();

  // The sums that rows() is made from.
  const TopTally& tally() const;
  const std::map<Pid, SampleBatch::Process>& processes() const { return names_.processes(); }
  size_t live_threads() const;
  size_t stopped_threads() const;  // of these: those that are stopped (SIGSTOP, a debugger, a frozen cgroup)
  std::map<int32_t, TopCell> LinesOf(const std::string& file) const;
  Nanos window_length() const { return window_length_; }

 private:
  struct Sums {
    TopTally window;
    TopTally start;
    size_t live_threads = 0;  // only for the frozen sums; the live ones are counted anew
    size_t stopped_threads = 0;
  };

  void Changed() { rows_.reset(); }
  void ReuseThreads();
  size_t CountThreads(bool (*is_one)(const TopThread&)) const;

  const Nanos window_length_;
  TopNames names_;
  std::deque<TopSlice> slices_;  // those in the window
  Sums live_;
  std::unique_ptr<Sums> frozen_;
  TopQuery query_;
  bool since_start_ = false;
  mutable std::optional<std::vector<TopRow>> rows_;
  std::optional<uint64_t> chosen_;  // identity of the selected row; nothing: the row at chosen_at_
  mutable size_t chosen_at_ = 0;
};

}  // namespace ptrace_prof
