#include "client/cli/messages.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

void Print(std::string_view label, const Error& error) {
  const std::string_view reason = ReasonName(error.reason);
  std::string text = fmt::format("{}: {}{}\n", label, CleanText(error.message),
                                 reason.empty() ? std::string() : fmt::format(" [{}]", reason));
  if (!error.remedy.empty()) {
    text += fmt::format("hint: {}\n", CleanText(error.remedy));
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
    std::fputs((CleanText(text.substr(0, end)) + "\n").c_str(), stderr);
    text.remove_prefix(more ? end + 1 : text.size());
  }
}

ExitCode Fail(const Error& error, ExitCode code) {
  PrintError(error);
  return code;
}

ExitCode Fail(const Error& error) { return Fail(error, ExitCodeOf(error)); }

ExitCode PrintOut(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return ExitCode::kOk;
  }
  const int error = errno;
  return Fail(
      {Code::kResourceExhausted, ErrnoError(error, "cannot write to standard output").message,
       error == ENOSPC ? "free some space, or write elsewhere" : "standard output is closed, or its reader has ended"},
      ExitCode::kOutput);
}

}  // namespace ptrace_prof
