// Prints to the terminal: errors, warnings, hints and notes on stderr, answers on stdout.
//
// Stateless. Makes foreign text printable.
#pragma once

#include <string_view>

#include "attach/base/result.h"
#include "client/cli/exit_code.h"

namespace ptrace_prof {

// "error: MESSAGE [REASON]" and, if there is a remedy, "hint: REMEDY". Scripts search for the reason.
void PrintError(const Error& error);
void PrintWarning(const Error& error);
// One or several lines; a newline is added.
void PrintNote(std::string_view text);

// Prints the error and returns its exit code.
ExitCode Fail(const Error& error);
ExitCode Fail(const Error& error, ExitCode code);

// Prints a whole answer on stdout. If it cannot be written, prints an error and returns kOutput.
ExitCode PrintOut(std::string_view text);

}  // namespace ptrace_prof
