// Counts the captures of a daemon that stop threads of the same process, so that each uses its part of their common
// time limit.
//
// Two captures meet if they have the same target, or if one follows the descendants of its target and the other's
// target is one of them. Only reads /proc.
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

// Ended captures are ignored; each running one gets its number.
void ShareStopsAmong(std::vector<std::shared_ptr<CaptureSession>> captures);

// Null: unknown.
using ParentOf = std::function<Pid(Pid)>;
Pid ParentInProc(Pid pid);

// For each capture the number of captures that meet, itself included: 1 to 255. Captures that stop no thread do not
// count.
std::vector<uint8_t> MeetingCaptures(std::span<const CaptureTask* const> captures, const ParentOf& parent);

}  // namespace ptrace_prof
