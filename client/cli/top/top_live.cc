#include "client/cli/top/top_live.h"

#include <utility>

#include "client/cli/top/top_pages.h"
#include "client/cli/top/top_session.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kWindow = Nanos::FromSeconds(5);
constexpr Nanos kKeyDelay = Nanos::FromMillis(25);  // until a key is noticed while waiting for samples

Result<SourceFile> NoSourceHere(Pid, const std::string& path) {
  return Error{Code::kNotFound, "no source of " + path + ": the process runs on another machine", ""};
}

std::string EndNotice(const SampleSource& source, const Result<void>& outcome) {
  std::string why = "the capture ended";
  if (outcome.has_error()) {
    why = outcome.error().message;
  } else if (source.end().has_value() && !source.end()->message.empty()) {
    why = source.end()->message;
  }
  return why + "; this is the last update (q quits)";
}

class TopLive {
 public:
  TopLive(TopScreen& screen, SampleSource& source, const TopSettings& settings)
      : screen_(screen),
        source_(source),
        settings_(settings),
        model_(kWindow),
        session_(model_, settings.pid, settings.is_of_this_machine ? ReadSourceFile : NoSourceHere) {
    model_.SetQuery(settings.query);
  }

  Result<void> Run(const SampleBatch& first, const Interrupts& interrupts) {
    model_.Add(first);
    while (!session_.wants_to_quit() && interrupts.count() == 0 && ObeyKeys()) {
      Draw();
      if (session_.notice().empty()) {
        TakeSamples();
      } else {
        screen_.AwaitKey(Nanos::FromMillis(100));
      }
    }
    return std::move(outcome_);
  }

 private:
  // False: the terminal is gone.
  bool ObeyKeys() {
    while (!session_.wants_to_quit()) {
      const ScreenInput input = screen_.Read();
      switch (input.kind) {
        case ScreenInput::Kind::kNothing: return true;
        case ScreenInput::Kind::kHangUp: return false;
        case ScreenInput::Kind::kRedraw: break;
        case ScreenInput::Kind::kKey: session_.OnKey(input.key); break;
      }
      next_draw_ = {};
    }
    return true;
  }

  void Draw() {
    const Nanos now = MonotonicNow();
    if (now >= next_draw_) {
      session_.SetPageRows(BodyRows(screen_.size()));
      screen_.Draw(DrawTop(session_, screen_.size()));
      next_draw_ = now + settings_.interval;
    }
  }

  void TakeSamples() {
    auto batch = source_.Next(kKeyDelay);
    if (batch.has_error()) {
      outcome_ = std::move(batch).error();
    } else if (batch.value().has_value()) {
      model_.Add(*batch.value());
    }
    if (outcome_.has_error() || source_.ended()) {
      session_.SetNotice(EndNotice(source_, outcome_));
      next_draw_ = {};
    }
  }

  TopScreen& screen_;
  SampleSource& source_;
  const TopSettings& settings_;
  TopModel model_;
  TopSession session_;
  Nanos next_draw_;
  Result<void> outcome_;
};

}  // namespace

Result<void> RunTopLive(TopScreen& screen, SampleSource& source, const SampleBatch& first, const TopSettings& settings,
                        const Interrupts& interrupts) {
  return TopLive(screen, source, settings).Run(first, interrupts);
}

}  // namespace ptrace_prof
