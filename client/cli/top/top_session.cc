#include "client/cli/top/top_session.h"

#include <algorithm>
#include <limits>

namespace ptrace_prof {
namespace {

constexpr size_t kMaxFiles = 64;  // kept in memory
constexpr size_t kMaxFilter = 200;

using Kind = TopKey::Kind;

// The text without its last character.
std::string Shortened(std::string text) {
  while (!text.empty() && (static_cast<uint8_t>(text.back()) & 0xc0) == 0x80) {
    text.pop_back();
  }
  if (!text.empty()) {
    text.pop_back();
  }
  return text;
}

int ViewNumber(TopView view) { return static_cast<int>(view); }

}  // namespace

void TopSession::OnKey(const TopKey& key) {
  switch (page_) {
    case Page::kTable: OnTableKey(key); return;
    case Page::kFilter: OnFilterKey(key); return;
    case Page::kSource: OnSourceKey(key); return;
    case Page::kHelp: page_ = before_help_; return;
  }
}

void TopSession::OnTableKey(const TopKey& key) {
  switch (key.kind) {
    case Kind::kText:
      if (key.text.size() == 1) {
        Letter(key.text[0]);
      }
      return;
    case Kind::kEnter: OpenSelected(); return;
    case Kind::kEscape:
    case Kind::kBackspace: Leave(); return;
    case Kind::kTab: model_.SetView(static_cast<TopView>((ViewNumber(model_.query().view) + 1) % 4)); return;
    case Kind::kUp:
    case Kind::kDown:
    case Kind::kPageUp:
    case Kind::kPageDown:
    case Kind::kHome:
    case Kind::kEnd: OnMove(key.kind); return;
  }
}

void TopSession::Letter(char letter) {
  switch (letter) {
    case '1': model_.SetView(TopView::kFunctions); break;
    case '2': model_.SetView(TopView::kLines); break;
    case '3': model_.SetView(TopView::kThreads); break;
    case '4': model_.SetView(TopView::kProcesses); break;
    case 's': model_.SetSort(TopSort::kSelf); break;
    case 't': model_.SetSort(TopSort::kTotal); break;
    case 'n': model_.SetSort(TopSort::kName); break;
    case 'r': model_.SetSort(model_.query().sort); break;
    case 'p':
    case ' ': model_.TogglePause(); break;
    case 'w': model_.ToggleSinceStart(); break;
    case 'c': model_.ClearCounts(); break;
    case 'j': OnMove(Kind::kDown); break;
    case 'k': OnMove(Kind::kUp); break;
    case '/':
      filter_before_ = model_.query().filter;
      page_ = Page::kFilter;
      break;
    case '?':
    case 'h':
      before_help_ = page_;
      page_ = Page::kHelp;
      break;
    case 'q':
    case 'Q': quit_ = true; break;
    default: break;
  }
}

void TopSession::OnMove(Kind kind) {
  const auto rows = static_cast<int>(std::min<size_t>(model_.rows().size(), std::numeric_limits<int>::max()));
  switch (kind) {
    case Kind::kUp: model_.MoveSelection(-1); break;
    case Kind::kDown: model_.MoveSelection(1); break;
    case Kind::kPageUp: model_.MoveSelection(-page_rows_); break;
    case Kind::kPageDown: model_.MoveSelection(page_rows_); break;
    case Kind::kHome: model_.MoveSelection(-rows); break;
    case Kind::kEnd: model_.MoveSelection(rows); break;
    default: break;
  }
}

void TopSession::OpenSelected() {
  const TopRow* row = model_.selected_row();
  if (row == nullptr || model_.Enter()) {
    return;
  }
  source_ = {.path = row->file, .line = std::max(row->line, 1)};
  page_ = Page::kSource;
}

// Leaves one level at a time: first the filter, then the scope.
void TopSession::Leave() {
  if (!model_.query().filter.empty()) {
    model_.SetFilter("");
  } else if (const auto scope = model_.query().scope; scope.has_value()) {
    model_.SetScope(std::nullopt);
    model_.SetView(scope->tid.value != 0 ? TopView::kThreads : TopView::kProcesses);
  }
}

void TopSession::OnFilterKey(const TopKey& key) {
  const std::string& filter = model_.query().filter;
  switch (key.kind) {
    case Kind::kText:
      if (filter.size() < kMaxFilter) {
        model_.SetFilter(filter + key.text);
      }
      return;
    case Kind::kBackspace: model_.SetFilter(Shortened(filter)); return;
    case Kind::kEscape:
      model_.SetFilter(filter_before_);
      page_ = Page::kTable;
      return;
    case Kind::kEnter: page_ = Page::kTable; return;
    default: OnMove(key.kind); return;
  }
}

void TopSession::OnSourceKey(const TopKey& key) {
  constexpr int64_t kFar = std::numeric_limits<int32_t>::max();
  switch (key.kind) {
    case Kind::kUp: MoveInSource(-1); return;
    case Kind::kDown: MoveInSource(1); return;
    case Kind::kPageUp: MoveInSource(-page_rows_); return;
    case Kind::kPageDown: MoveInSource(page_rows_); return;
    case Kind::kHome: MoveInSource(-kFar); return;
    case Kind::kEnd: MoveInSource(kFar); return;
    case Kind::kEnter:
    case Kind::kEscape:
    case Kind::kBackspace: page_ = Page::kTable; return;
    case Kind::kTab: NextSampledLine(1); return;
    case Kind::kText: break;
  }
  switch (key.text.size() == 1 ? key.text[0] : '\0') {
    case 'j': MoveInSource(1); break;
    case 'k': MoveInSource(-1); break;
    case 'n': NextSampledLine(1); break;
    case 'N': NextSampledLine(-1); break;
    case 'p':
    case ' ':
    case 'w':
    case '?':
    case 'h':
    case 'q':
    case 'Q': Letter(key.text[0]); break;
    default: break;
  }
}

void TopSession::MoveInSource(int64_t lines) {
  const Result<SourceFile>& file = FileOf(source_.path);
  const int64_t last = file.has_value() ? static_cast<int64_t>(file.value().lines.size()) : 1;
  source_.line = static_cast<int32_t>(std::max<int64_t>(1, std::min(source_.line + lines, last)));
}

void TopSession::NextSampledLine(int step) {
  const std::map<int32_t, TopCell> counts = model_.LinesOf(source_.path);
  if (step > 0) {
    const auto next = counts.upper_bound(source_.line);
    MoveInSource(next != counts.end() ? next->first - source_.line : 0);
  } else {
    const auto at = counts.lower_bound(source_.line);
    MoveInSource(at != counts.begin() ? std::prev(at)->first - source_.line : 0);
  }
}

const Result<SourceFile>& TopSession::FileOf(const std::string& path) const {
  const auto& scope = model_.query().scope;
  const std::pair key(scope.has_value() ? scope->pid : target_, path);
  if (const auto known = files_.find(key); known != files_.end()) {
    return known->second;
  }
  if (files_.size() >= kMaxFiles) {
    files_.clear();
  }
  return files_.emplace(key, reader_(key.first, path)).first->second;
}

}  // namespace ptrace_prof
