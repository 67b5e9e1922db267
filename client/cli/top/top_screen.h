// The terminal as a full screen, and its keyboard: the only place that knows ncurses.
//
// Open() takes the terminal over, the destructor gives it back as it was; so it is too while Ctrl-Z has stopped us
// (Read() sees to that). Signals that ask to end must be handled by somebody else, before (Interrupts). One at a time,
// one thread.
#pragma once

#include <memory>
#include <vector>

#include "attach/base/result.h"
#include "attach/base/types.h"
#include "client/cli/top/top_pages.h"

namespace ptrace_prof {

struct ScreenInput {
  enum class Kind : uint8_t { kNothing, kKey, kRedraw, kHangUp };
  Kind kind = Kind::kNothing;
  TopKey key;
};

class TopScreen {
 public:
  // kUnimplemented: this terminal cannot, and why.
  static Result<std::unique_ptr<TopScreen>> Open();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  ScreenSize size() const;
  void Draw(const std::vector<TopLine>& lines);
  // What was pressed, without waiting.
  ScreenInput Read();
  void AwaitKey(Nanos timeout);

 private:
  struct Impl;
  explicit TopScreen(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof
