#include "daemon/collector/calls/sampled_instead.h"

#include <string>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr char kNoSteps[] = "samples do not count steps: the time limit applies";
constexpr size_t kMaxReason = kMaxSentence / 5;  // characters, of up to four bytes each

std::string SentenceOf(const Error& refusal) {
  const std::string text = CleanText(refusal.message);
  return text.find_first_not_of(' ') == std::string::npos ? "" : Shortened(text, kMaxReason);
}

}  // namespace

CaptureTask AsSamples(const CaptureTask& asked, const Error& refusal) {
  CaptureTask samples = asked;
  v1::CaptureSpec& spec = *samples.mutable_spec();
  std::string why = SentenceOf(refusal);
  if (spec.trace().steps() > 0 || spec.trace().has_schedule()) {
    why += why.empty() ? kNoSteps : std::string("; ") + kNoSteps;
  }
  samples.set_sampled_because(why);
  if (!spec.has_duration() && samples.has_longest()) {
    *spec.mutable_duration() = samples.longest();
  }
  spec.set_mode(v1::MODE_SAMPLE);
  spec.clear_trace();
  return samples;
}

}  // namespace ptrace_prof
