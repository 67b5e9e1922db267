#include "client/cli/top/top_model.h"

#include <algorithm>
#include <utility>

namespace ptrace_prof {

bool TopModel::Add(const SampleBatch& batch) {
  if (!batch.Valid()) {
    return false;
  }
  slices_.push_back(names_.Slice(batch));
  live_.window.Add(slices_.back());
  live_.start.Add(slices_.back());
  // The window holds whole batches: at least the newest, and otherwise no more than its length.
  while (slices_.size() > 1 && slices_.back().end - slices_.front().begin > window_length_) {
    live_.window.Subtract(slices_.front());
    slices_.pop_front();
  }
  ReuseThreads();
  if (!paused()) {
    Changed();
  }
  return true;
}

void TopModel::ReuseThreads() {
  if (!names_.threads_full() || paused()) {
    return;
  }
  std::vector<bool> gone(names_.threads().size());
  for (uint32_t i = kOtherThreads.value + 1; i < gone.size(); ++i) {
    gone[i] = !live_.window.Has(ThreadIndex(i));
  }
  live_.start.Fold(gone);
  live_.window.Fold(gone);
  names_.Free(gone);
}

void TopModel::SetQuery(const TopQuery& query) {
  query_ = query;
  Changed();
}

void TopModel::SetView(TopView view) {
  if (query_.view != view) {
    query_.view = view;
    chosen_.reset();
    chosen_at_ = 0;
    Changed();
  }
}

void TopModel::SetSort(TopSort sort) {
  query_.reversed = query_.sort == sort && !query_.reversed;
  query_.sort = sort;
  Changed();
}

void TopModel::SetFilter(std::string filter) {
  query_.filter = std::move(filter);
  Changed();
}

void TopModel::SetScope(std::optional<TopScope> scope) {
  query_.scope = scope;
  chosen_.reset();
  chosen_at_ = 0;
  Changed();
}

void TopModel::TogglePause() {
  if (paused()) {
    frozen_ = nullptr;
  } else {
    auto frozen = std::make_unique<Sums>(live_);
    frozen->live_threads = live_threads();
    frozen->stopped_threads = stopped_threads();
    frozen_ = std::move(frozen);
  }
  Changed();
}

void TopModel::ToggleSinceStart() {
  since_start_ = !since_start_;
  Changed();
}

void TopModel::ClearCounts() {
  slices_.clear();
  live_ = {};
  if (paused()) {
    *frozen_ = {};
  }
  Changed();
}

const TopTally& TopModel::tally() const {
  const Sums& shown = paused() ? *frozen_ : live_;
  return since_start_ ? shown.start : shown.window;
}

const std::vector<TopRow>& TopModel::rows() const {
  if (!rows_.has_value()) {
    rows_ = MakeTopRows(names_, tally(), query_);
    if (chosen_.has_value()) {
      const auto row =
          std::find_if(rows_->begin(), rows_->end(), [&](const TopRow& one) { return one.identity == *chosen_; });
      chosen_at_ = row != rows_->end() ? static_cast<size_t>(row - rows_->begin()) : chosen_at_;
    }
  }
  return *rows_;
}

size_t TopModel::selected() const {
  const size_t count = rows().size();
  return count == 0 ? 0 : std::min(chosen_at_, count - 1);
}

const TopRow* TopModel::selected_row() const { return rows().empty() ? nullptr : &rows()[selected()]; }

void TopModel::MoveSelection(int rows_down) {
  const auto last = static_cast<int64_t>(rows().size()) - 1;
  const int64_t wanted = static_cast<int64_t>(selected()) + rows_down;
  chosen_at_ = static_cast<size_t>(std::max<int64_t>(0, std::min(wanted, last)));
  // The selection at the top stays at the top, and does not follow its row.
  chosen_ = chosen_at_ == 0 || last < 0 ? std::nullopt : std::optional(rows()[chosen_at_].identity);
}

bool TopModel::Enter() {
  const TopRow* row = selected_row();
  if (row == nullptr || (query_.view != TopView::kThreads && query_.view != TopView::kProcesses)) {
    return false;
  }
  const TopScope scope{.pid = row->pid, .tid = row->tid};
  query_.filter.clear();
  SetView(TopView::kFunctions);
  SetScope(scope);
  return true;
}

size_t TopModel::CountThreads(bool (*is_one)(const TopThread&)) const {
  return static_cast<size_t>(std::ranges::count_if(names_.threads(), is_one));
}

size_t TopModel::live_threads() const {
  return paused() ? frozen_->live_threads
                  : CountThreads([](const TopThread& one) { return one.state != ThreadState::kUnknown; });
}

size_t TopModel::stopped_threads() const {
  return paused() ? frozen_->stopped_threads
                  : CountThreads([](const TopThread& one) { return one.state == ThreadState::kJobStopped; });
}

std::map<int32_t, TopCell> TopModel::LinesOf(const std::string& file) const {
  return CountsOfLines(names_, tally(), query_.scope, file);
}

}  // namespace ptrace_prof
