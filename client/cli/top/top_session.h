// The state of an interactive `top`: the page (table, source, help, or the filter input) and what each key does.
//
//        ┌─────────── Esc ───────────┐
//   kTable ──/──► kFilter   kTable ──┼─Enter on a function or line─► kSource        any ──?──► kHelp ──any key──► back
//        └─ Enter, Esc ◄─┘           └─────────────────────────────────┘
//
// Pure, except that it reads source files through the given function. Independent of the terminal. One thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "client/cli/export/source_file.h"
#include "client/cli/top/top_model.h"

namespace ptrace_prof {

struct TopKey {
  enum class Kind : uint8_t {
    kText,
    kUp,
    kDown,
    kPageUp,
    kPageDown,
    kHome,
    kEnd,
    kEnter,
    kEscape,
    kBackspace,
    kTab,
  };
  Kind kind = Kind::kText;
  std::string text;  // kText: one character, UTF-8
};

using SourceReader = std::function<Result<SourceFile>(Pid, const std::string& path)>;

class TopSession {
 public:
  enum class Page : uint8_t { kTable, kFilter, kSource, kHelp };
  // An open source file.
  struct Source {
    std::string path;
    int32_t line = 1;  // the line of the cursor
  };

  TopSession(TopModel& model, Pid target, SourceReader reader)
      : model_(model), target_(target), reader_(std::move(reader)) {}

  void OnKey(const TopKey& key);
  void SetPageRows(int rows) { page_rows_ = rows; }
  // Shown on the screen from now on: how the capture ended.
  void SetNotice(std::string notice) { notice_ = std::move(notice); }

  const TopModel& model() const { return model_; }
  Pid target() const { return target_; }
  Page page() const { return page_; }
  const Source& source() const { return source_; }
  const std::string& notice() const { return notice_; }
  bool wants_to_quit() const { return quit_; }

  // The file in the target's view of the file system; cached.
  const Result<SourceFile>& FileOf(const std::string& path) const;

 private:
  void OnTableKey(const TopKey& key);
  void OnFilterKey(const TopKey& key);
  void OnSourceKey(const TopKey& key);
  void OnMove(TopKey::Kind kind);
  void Letter(char letter);
  void OpenSelected();
  void Leave();
  void MoveInSource(int64_t lines);
  void NextSampledLine(int step);

  TopModel& model_;
  const Pid target_;
  const SourceReader reader_;
  Page page_ = Page::kTable;
  Page before_help_ = Page::kTable;
  Source source_;
  std::string filter_before_;
  std::string notice_;
  int page_rows_ = 10;
  bool quit_ = false;
  mutable std::map<std::pair<Pid, std::string>, Result<SourceFile>> files_;
};

}  // namespace ptrace_prof
