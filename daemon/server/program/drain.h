// Ends the daemon's service within a fixed time.
//
//   nothing new ─► collectors asked to stop ─► all have ended ──► running calls end by themselves ─► done
//                         └── most of the time is over ─► killed ─┘     └── the time is over ─► cancelled
// Clients may connect and read until all captures have ended. Call once, from the main thread.
#pragma once

#include <vector>

#include "attach/base/types.h"
#include "daemon/server/captures/capture_registry.h"
#include "daemon/server/program/service_notice.h"
#include "rpc/unix/unix_listener.h"

namespace ptrace_prof {

// `most`: for the whole end; half a second more if collectors have to be killed.
void Drain(CaptureRegistry& captures, const std::vector<UnixListener*>& listeners, ServiceNotice& notice, Nanos most);

}  // namespace ptrace_prof
