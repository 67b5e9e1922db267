// The full-screen terminal and its keyboard. Only this file uses ncurses.
//
// Open() takes over the terminal, the destructor restores it. Read() also restores it while Ctrl-Z has stopped us.
// Signals that ask to end must already be handled elsewhere (Interrupts). One object at a time, one thread.
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
  // kUnimplemented says why this terminal is unsuitable.
  static Result<std::unique_ptr<TopScreen>> Open();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  ScreenSize size() const;
  void Draw(const std::vector<TopLine>& lines);
  // The keys that were pressed; does not wait.
  ScreenInput Read();
  void AwaitKey(Nanos timeout);

 private:
  struct Impl;
  explicit TopScreen(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ptrace_prof
