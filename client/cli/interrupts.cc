#include "client/cli/interrupts.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

#include "attach/base/anonymous_file.h"

namespace ptrace_prof {
namespace {

std::atomic<int> g_count{0};
std::atomic<uint64_t> g_to_forward{0};  // a bit per signal number
std::atomic<int> g_abort_status{-1};
char g_last_words[4352];
std::atomic<size_t> g_last_words_size{0};
char g_name[4096];
std::atomic<int> g_file_to_name{-1};

constexpr char kNothingKept[] = "aborted\nthe trace could not be kept\n";

bool AsksToEnd(int signal) { return signal != SIGUSR1 && signal != SIGUSR2; }

void OnSignal(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  if (info->si_code <= 0) {  // sent by a process, not by the terminal
    g_to_forward.fetch_or(uint64_t{1} << signal);
  }
  if (AsksToEnd(signal)) {
    if (const int status = g_abort_status.load(); status >= 0) {
      const int fd = g_file_to_name.load();
      const int failure = fd < 0 ? 0 : NameFile(fd, g_name);
      if (failure == 0 || failure == EEXIST) {  // the file has its name already
        (void)!::write(STDERR_FILENO, g_last_words, g_last_words_size.load());
      } else {
        (void)!::write(STDERR_FILENO, kNothingKept, sizeof kNothingKept - 1);
      }
      ::_exit(status);
    }
    g_count.fetch_add(1);
  }
  errno = saved;
}

}  // namespace

Interrupts::Interrupts(Mode mode) {
  g_count.store(0);
  g_to_forward.store(0);
  g_abort_status.store(-1);
  g_file_to_name.store(-1);
  installed_ = mode == Mode::kAlone ? 4 : kSignals.size();
  for (size_t i = 0; i < installed_; ++i) {
    ::sigaction(kSignals[i], nullptr, &old_[i]);
    // A shell without job control starts background programs with SIGINT ignored. `kill -INT` must still end a
    // recording.
    const bool may_override = mode == Mode::kAlone && kSignals[i] != SIGHUP;
    if (old_[i].sa_handler != SIG_IGN || may_override) {
      struct sigaction action {};
      action.sa_sigaction = OnSignal;
      action.sa_flags = SA_SIGINFO;  // no SA_RESTART: a signal must interrupt a wait
      ::sigaction(kSignals[i], &action, nullptr);
    }
  }
}

Interrupts::~Interrupts() {
  for (size_t i = 0; i < installed_; ++i) {
    ::sigaction(kSignals[i], &old_[i], nullptr);
  }
}

int Interrupts::count() const { return g_count.load(); }

std::optional<int> Interrupts::NextToForward() {
  const uint64_t pending = g_to_forward.load();
  for (const int signal : kSignals) {
    const uint64_t bit = uint64_t{1} << signal;
    if ((pending & bit) != 0) {
      g_to_forward.fetch_and(~bit);
      return signal;
    }
  }
  return std::nullopt;
}

void Interrupts::AbortOnNext(std::string_view last_words, int status) {
  const size_t size = std::min(last_words.size(), sizeof g_last_words);
  std::copy_n(last_words.data(), size, g_last_words);
  g_last_words_size.store(size);
  g_abort_status.store(status);
}

void Interrupts::NameOnAbort(int fd, std::string_view path) {
  if (path.size() < sizeof g_name) {
    *std::copy(path.begin(), path.end(), g_name) = '\0';
    g_file_to_name.store(fd);
  }
}

}  // namespace ptrace_prof
