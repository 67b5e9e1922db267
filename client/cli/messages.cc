#include "client/cli/messages.h"

#include <fmt/format.h>

#include <cstdio>

#include "client/cli/printable.h"

namespace ptrace_prof {
namespace {

void Print(std::string_view label, const Error& error) {
  const std::string_view reason = ReasonName(error.reason);
  std::string text = fmt::format("{}: {}{}\n", label, Printable(error.message),
                                 reason.empty() ? std::string() : fmt::format(" [{}]", reason));
  if (!error.remedy.empty()) {
    text += fmt::format("hint: {}\n", Printable(error.remedy));
  }
  std::fputs(text.c_str(), stderr);
}

}  // namespace

void PrintError(const Error& error) { Print("error", error); }
void PrintWarning(const Error& error) { Print("warning", error); }
void PrintNote(std::string_view text) {
  for (bool more = true; more;) {
    const size_t end = text.find('\n');
    more = end != std::string_view::npos;
    std::fputs((Printable(text.substr(0, end)) + "\n").c_str(), stderr);
    text.remove_prefix(more ? end + 1 : text.size());
  }
}

ExitCode Fail(const Error& error, ExitCode code) {
  PrintError(error);
  return code;
}

ExitCode Fail(const Error& error) { return Fail(error, ExitCodeOf(error.code)); }

}  // namespace ptrace_prof
