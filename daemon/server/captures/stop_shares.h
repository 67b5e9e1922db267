// How many captures of a daemon stop threads of the same process: each may use its part of the time that it allows.
//
// Two captures meet where they have the same target, or one the descendants of its own, among which the other's is.
// Only reads /proc.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attach/base/types.h"
#include "daemon/server/captures/capture_session.h"
#include "rpc/messages/capture_task.h"

namespace ptrace_prof {

// Of captures that go on or have ended: tells each that goes on.
void ShareStopsAmong(std::vector<std::shared_ptr<CaptureSession>> captures);

// Null: nobody knows.
using ParentOf = std::function<Pid(Pid)>;
Pid ParentInProc(Pid pid);

// For each of them, with itself: 1 and more, at most 255. Those that stop nobody count for none.
std::vector<uint8_t> MeetingCaptures(std::span<const CaptureTask* const> captures, const ParentOf& parent);

}  // namespace ptrace_prof
