// Ctrl-C and the other signals that ask us to end, counted while this object lives.
//
// While a command of ours runs in the same terminal, that command gets the terminal's signals itself; a signal that
// somebody sent to us alone (kill, a batch system) is handed on: see NextToForward. What was ignored when we started
// stays ignored when there is a command, and SIGHUP in any case (nohup).
// One object at a time; its handlers become defaults in programs that we start.
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

  // Requests to end so far: the first is kind, later ones are not.
  int count() const;
  // A signal for the command that it did not get from the terminal.
  std::optional<int> NextToForward();
  // From now on one more request ends us at once: prints `last_words`, exits with `status`.
  void AbortOnNext(std::string_view last_words, int status);
  // The file without a name behind `fd` gets this one then; where it cannot, other last words are said. Call it before
  // AbortOnNext.
  void NameOnAbort(int fd, std::string_view path);

 private:
  static constexpr std::array<int, 6> kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
  std::array<struct sigaction, kSignals.size()> old_{};
  size_t installed_ = 0;
};

}  // namespace ptrace_prof
