// What we say to the person at the terminal: errors, warnings, hints, notes on stderr, answers on stdout.
//
// Stateless. Text that comes from elsewhere is made printable here.
#pragma once

#include <string_view>

#include "attach/base/result.h"
#include "client/cli/exit_code.h"

namespace ptrace_prof {

// "error: MESSAGE [REASON]" and, where there is a remedy, "hint: REMEDY". The reason is what a script looks for.
void PrintError(const Error& error);
void PrintWarning(const Error& error);
// One line or several; a newline is added.
void PrintNote(std::string_view text);

// PrintError, and the exit code that goes with it.
ExitCode Fail(const Error& error);
ExitCode Fail(const Error& error, ExitCode code);

// An answer, whole, on stdout; kOutput, and an error is printed, where it cannot be written.
ExitCode PrintOut(std::string_view text);

}  // namespace ptrace_prof
