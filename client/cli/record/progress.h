// The progress line of a recording on stderr: rewritten in place on a terminal, else printed once a minute.
//
// Silent if requested, and while a command that we started owns the terminal. One owner, one thread.
#pragma once

#include <string>

#include "attach/base/types.h"
#include "daemon/trace/model.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

class Progress {
 public:
  enum class Style { kSilent, kLine, kPlain };
  // `headline` is printed once there is a process in the trace; may be empty. `whole`: the expected duration, 0 if
  // unknown.
  Progress(Style style, v1::Mode mode, Nanos whole, std::string headline);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Takes the mode that MODE_AUTO chose from the trace, and prints it once.
  void Settle(const CaptureTask& request);
  // May be called often; draws only now and then.
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

// The mode that MODE_AUTO chose, and the reason if known.
std::string ChoiceText(const CaptureTask& carried_out);

// kLine on a terminal, else kPlain.
Progress::Style ProgressStyleForStderr();

}  // namespace ptrace_prof
