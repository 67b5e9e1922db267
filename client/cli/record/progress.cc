#include "client/cli/record/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "client/cli/messages.h"
#include "client/cli/record/totals_text.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kRedraw = Nanos::FromMillis(250);
constexpr Nanos kPlainEvery = Nanos::FromSeconds(60);

size_t TerminalWidth() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

Progress::Style ProgressStyleForStderr() {
  return ::isatty(STDERR_FILENO) == 1 ? Progress::Style::kLine : Progress::Style::kPlain;
}

Progress::Progress(Style style, v1::Mode mode, Nanos whole, std::string headline)
    : style_(style),
      mode_(mode),
      whole_(whole),
      is_quiet_(headline.empty()),
      headline_(std::move(headline)),
      begin_(MonotonicNow()),
      next_(begin_ + (style == Style::kPlain ? kPlainEvery : kRedraw)) {}

std::string ChoiceText(const CaptureTask& carried_out) {
  const std::string& why = carried_out.sampled_because();
  return carried_out.spec().mode() == v1::MODE_TRACE ? "tracing every call"
         : why.empty()                               ? "sampling, not tracing"
                                                     : fmt::format("sampling, not tracing: {}", why);
}

void Progress::Settle(const CaptureTask& request) {
  if (mode_ != v1::MODE_AUTO) {
    return;
  }
  mode_ = request.spec().mode();
  if (!is_quiet_) {
    Clear();
    PrintNote(ChoiceText(request));
  }
}

void Progress::Show(const Accounting& totals) {
  const Nanos now = MonotonicNow();
  if (totals.processes > 0 && !headline_.empty()) {
    PrintNote(std::exchange(headline_, {}));
    begin_ = now;
  }
  if (style_ == Style::kSilent || now < next_) {
    return;
  }
  std::string line = LiveLine(mode_, totals, now - begin_, style_ == Style::kLine ? whole_ : Nanos());
  if (style_ == Style::kLine) {
    line = line.substr(0, TerminalWidth() - 1);  // cutting bytes is safe, because the line is ASCII
    std::fputs(fmt::format("\r{}\x1b[K", line).c_str(), stderr);
    drawn_ = true;
    next_ = now + kRedraw;
  } else {
    std::fputs((line + "\n").c_str(), stderr);
    next_ = now + kPlainEvery;
  }
  std::fflush(stderr);
}

void Progress::Clear() {
  if (drawn_) {
    std::fputs("\r\x1b[K", stderr);
    std::fflush(stderr);
    drawn_ = false;
  }
}

}  // namespace ptrace_prof
