// The end of the daemon's service, within a time that is known beforehand.
//
//   nothing new ─► collectors told to end ─► all have ended ──► calls that go on end by themselves ─► done
//                         └── most of the time is over ─► killed ─┘      └── the time is over ─► cancelled
// Clients may connect, look and read until all captures have ended. Call once, from the main thread.
#pragma once

#include <vector>

#include "attach/base/types.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/program/service_notice.h"
#include "rpc/unix/unix_listener.h"

namespace ptrace_prof {

// `most`: for all of it; where collectors have to be killed, half a second more.
void Drain(CaptureRegistry& captures, const std::vector<UnixListener*>& listeners, ServiceNotice& notice, Nanos most);

}  // namespace ptrace_prof
