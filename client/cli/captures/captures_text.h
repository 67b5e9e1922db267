// Captures of a daemon in writing: a table, JSON, and a line for each event of one that is watched. Pure functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attach/base/types.h"
#include "client/remote/remote_capture.h"

namespace ptrace_prof {

std::string_view StateName(RemoteState state);  // "running"
// "12:04", "1:02:03", "2d 3h": whole seconds.
std::string ShortTime(Nanos time);

// `now`: since 1970. Where they are not all of `viewer`, with their owners.
std::string CapturesTable(std::span<const RemoteCapture> captures, Nanos now, Uid viewer);
std::string CapturesJson(std::span<const RemoteCapture> captures);
// One object in one line.
std::string CaptureJsonLine(const RemoteCapture& capture);
// "running    00:03  1,200 samples  60.1 KiB"; the last one says how it ended.
std::string EventLine(const RemoteCapture& capture, Nanos now);

}  // namespace ptrace_prof
