#include "daemon/server/service/check_message.h"

#include <iterator>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

using Message = ptraceprof::v1::Check;

constexpr Message::Verdict kVerdicts[] = {Message::VERDICT_OK, Message::VERDICT_LIMITED, Message::VERDICT_MISSING};

}  // namespace

void FillCheck(const Check& check, Message* out) {
  out->set_pid(check.pid.value);
  out->set_subject(CleanText(check.subject));
  out->set_verdict(kVerdicts[static_cast<size_t>(check.verdict) % std::size(kVerdicts)]);
  out->set_cause(CleanText(check.cause));
  out->set_remedy(CleanText(check.remedy));
  out->set_code(static_cast<int>(check.code));
  out->set_reason(std::string(ReasonName(check.reason)));
}

}  // namespace ptrace_prof
