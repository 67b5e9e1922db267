// The daemon's log: one line per event on stderr, "time=… level=… event=… key=value …", for people and for programs.
//
// Thread-safe. Values are quoted if necessary, so that text from outside cannot pass for another line.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "attach/base/result.h"

namespace ptrace_prof {

enum class LogLevel { kInfo, kWarning, kError };

using LogFields = std::initializer_list<std::pair<std::string_view, std::string>>;

void StartLog();
void Log(LogLevel level, std::string_view event, LogFields fields = {});
void Log(LogLevel level, std::string_view event, const Error& error);

// A value as it appears in a line.
std::string QuoteValue(std::string_view value);

}  // namespace ptrace_prof
