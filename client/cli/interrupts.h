// Counts Ctrl-C and the other signals that ask us to end, while this object lives.
//
// A command that we started in the same terminal gets the terminal's signals itself. A signal that was sent to us alone
// (kill, a batch system) is forwarded to it: see NextToForward. With a command, a signal that was ignored at our start
// stays ignored, and SIGHUP in any case (nohup). One object at a time; programs that we start get the default handlers.
#pragma once

#include <signal.h>

#include <array>
#include <optional>
#include <string_view>

namespace ptrace_prof {

class Interrupts {
 public:
  enum class Mode { kAlone, kWithCommand };
  explicit Interrupts(Mode mode);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Requests to end so far: the first one ends us gracefully, later ones do not.
  int count() const;
  // The next signal for the command that it did not get from the terminal.
  std::optional<int> NextToForward();
  // From now on one more request ends us at once: prints `last_words`, exits with `status`.
  void AbortOnNext(std::string_view last_words, int status);
  // Such an end also gives `path` to the nameless file behind `fd`; if that fails, it prints a different message. Call
  // before AbortOnNext.
  void NameOnAbort(int fd, std::string_view path);

 private:
  static constexpr std::array<int, 6> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  std::array<struct sigaction, kSignals.size()> old_{};
  size_t installed_ = 0;
};

}  // namespace ptrace_prof
