#include "daemon/collect/sampled_instead.h"

#include <string>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

constexpr char kNoSteps[] = "without calls there are no steps: it goes by time";
constexpr size_t kMaxReason = kMaxSentence / 5;  // characters, of which each may take four bytes

std::string SentenceOf(const Error& refusal) {
  const std::string text = CleanText(refusal.message);
  return text.find_first_not_of(' ') == std::string::npos ? "" : Shortened(text, kMaxReason);
}

}  // namespace

CaptureRequest AsSamples(const CaptureRequest& request, const Error& refusal) {
  CaptureRequest samples = request;
  samples.mode = CaptureMode::kSample;
  samples.sampled_because = SentenceOf(refusal);
  if (request.trace.steps > 0 || request.trace.schedule) {
    samples.sampled_because += samples.sampled_because.empty() ? kNoSteps : std::string("; ") + kNoSteps;
  }
  if (request.duration.value == 0) {
    samples.duration = request.trace.longest;
  }
  samples.trace = {};
  return samples;
}

}  // namespace ptrace_prof
