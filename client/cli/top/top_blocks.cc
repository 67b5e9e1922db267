#include "client/cli/top/top_blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>

#include "client/cli/top/top_model.h"
#include "client/cli/top/top_text.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kNoticeSignalsWithin = Nanos::FromMillis(100);  // until a signal is noticed at the latest

std::string ClockTime() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%H:%M:%S", &local);
  return text;
}

std::string Block(const TopModel& model, const TopSettings& settings) {
  std::string text = fmt::format("{}  {}\n{}\n{}\n", ClockTime(), TopTargetText(model, settings.pid),
                                 TopTotalsText(model), TopHeading(model.query()));
  const std::vector<TopRow>& rows = model.rows();
  const size_t shown = std::min(rows.size(), settings.limit);
  for (size_t i = 0; i < shown; ++i) {
    text += TopRowText(rows[i], model.query().view) + "\n";
  }
  if (shown < rows.size()) {
    text += fmt::format("  (and {} more {}; --limit)\n", rows.size() - shown, NameOf(model.query().view));
  }
  return text + "\n";
}

// False: the reader has closed our output.
Result<bool> Write(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return true;
  }
  if (errno == EPIPE) {
    return false;
  }
  return Error{Code::kResourceExhausted, ErrnoError(errno, "cannot write to standard output").message,
               "check whether the disk is full"};
}

}  // namespace

Result<void> PrintTopBlocks(SampleSource& source, const SampleBatch& first, const TopSettings& settings,
                            const Interrupts& interrupts) {
  TopModel model(settings.interval);
  model.SetQuery(settings.query);
  model.ToggleSinceStart();  // resets every block, so this means: since the last block
  Nanos begin = first.begin;
  std::optional<SampleBatch> batch = first;
  Result<void> outcome;
  for (uint64_t blocks = 0; interrupts.count() == 0;) {
    if (batch.has_value()) {
      model.Add(*batch);
    }
    const bool due = batch.has_value() && batch->end - begin >= settings.interval;
    const bool last = source.ended() || outcome.has_error();
    if (due || (last && model.tally().samples() > 0)) {
      PP_ASSIGN_OR_RETURN(const bool read, Write(Block(model, settings)));
      begin = batch.has_value() ? batch->end : begin;
      model.ClearCounts();
      if (!read || ++blocks == settings.count) {
        return outcome;
      }
    }
    if (last) {
      return outcome;
    }
    auto next = source.Next(kNoticeSignalsWithin);
    outcome = next.has_error() ? Result<void>(next.error()) : Result<void>();
    batch = next.has_value() ? std::move(next).value() : std::nullopt;
  }
  return outcome;
}

}  // namespace ptrace_prof
