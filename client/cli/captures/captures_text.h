// Formats a daemon's captures: a table, JSON, and one line per event of a watched capture. Pure functions.
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

// `now`: since 1970. Shows the owners unless all captures belong to `viewer`.
std::string CapturesTable(std::span<const RemoteCapture> captures, Nanos now, Uid viewer);
std::string CapturesJson(std::span<const RemoteCapture> captures);
// One object on one line.
std::string CaptureJsonLine(const RemoteCapture& capture);
// "running    00:03  1,200 samples  60.1 KiB"; the line of the last event says how the capture ended.
std::string EventLine(const RemoteCapture& capture, Nanos now);

}  // namespace ptrace_prof
