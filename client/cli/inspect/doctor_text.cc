#include "client/cli/inspect/doctor_text.h"

#include <fmt/format.h>

#include "attach/base/clean_text.h"
#include "client/cli/inspect/verdict_word.h"

namespace ptrace_prof {
namespace {

std::string CheckLine(const Check& check) {
  std::string text =
      fmt::format("  {:<8} {:<19} {}\n", VerdictWord(check.verdict), CleanText(check.subject), CleanText(check.cause));
  if (!check.remedy.empty()) {
    text += fmt::format("  {:<8} {:<19} -> {}\n", "", "", CleanText(check.remedy));
  }
  return text;
}

std::string Summary(const Inspection& inspection, Pid pid) {
  const std::string subject = pid.value == 0 ? "this node" : fmt::format("process {}", pid.value);
  if (OutcomeFor(inspection, pid) != Code::kOk) {
    return fmt::format("{}\n", pid.value == 0 ? "No other process can be profiled here."
                                              : fmt::format("Process {} cannot be profiled.", pid.value));
  }
  for (const Check& check : inspection.checks) {
    if (check.verdict != Verdict::kOk) {
      return fmt::format("Profiling works on {}, within the limits above.\n", subject);
    }
  }
  return fmt::format("Profiling works on {}.\n", subject);
}

}  // namespace

std::string DoctorText(const Inspection& inspection, Pid pid) {
  std::string node;
  std::string process;
  for (const Check& check : inspection.checks) {
    (check.pid.value == 0 ? node : process) += CheckLine(check);
  }
  std::string text = "This node\n" + node;
  if (pid.value != 0) {
    text += fmt::format("\nProcess {}\n", pid.value) + process;
  }
  return text + "\n" + Summary(inspection, pid);
}

}  // namespace ptrace_prof
