// The line that shows how a recording goes, on stderr: rewritten in place on a terminal, once a minute otherwise.
//
// Silent when asked to be, and while a command of ours owns the terminal. One owner, one thread.
#pragma once

#include <string>

#include "attach/base/types.h"
#include "daemon/trace/model.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class Progress {
 public:
  enum class Style { kSilent, kLine, kPlain };
  // `headline` is printed once there is a process in the trace; may be empty. `whole`: how long it will take, 0 where
  // nobody knows.
  Progress(Style style, v1::Mode mode, Nanos whole, std::string headline);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // What kAuto came to, as the trace says; says it aloud, once.
  void Settle(const CaptureTask& request);
  // As often as you like; draws now and then.
  void Show(const Accounting& totals);
  // Call before anything else is printed.
  void Clear();

 private:
  Style style_;
  v1::Mode mode_;
  Nanos whole_;
  bool is_quiet_;  // no notes at all
  std::string headline_;
  Nanos begin_;
  Nanos next_;
  bool drawn_ = false;
};

// What kAuto came to, and why if that is known.
std::string ChoiceText(const CaptureTask& carried_out);

// kLine on a terminal, else kPlain.
Progress::Style ProgressStyleForStderr();

}  // namespace ptrace_prof
