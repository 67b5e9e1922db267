// The line that shows how a recording goes, on stderr: rewritten in place on a terminal, once a minute otherwise.
//
// Silent when asked to be, and while a command of ours owns the terminal. One owner, one thread.
#pragma once

#include "attach/base/types.h"
#include "daemon/trace/model.h"

namespace ptrace_prof {

class Progress {
 public:
  enum class Style { kSilent, kLine, kPlain };
  explicit Progress(Style style);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // As often as you like; draws now and then.
  void Show(const Accounting& totals);
  // Call before anything else is printed.
  void Clear();

 private:
  Style style_;
  Nanos begin_;
  Nanos next_;
  bool drawn_ = false;
};

// kLine on a terminal, else kPlain.
Progress::Style ProgressStyleForStderr();

}  // namespace ptrace_prof
