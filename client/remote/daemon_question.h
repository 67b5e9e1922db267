// Requests a daemon's status. Stateless; ends within seconds.
#pragma once

#include "attach/base/result.h"
#include "client/remote/remote_daemon.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"

namespace ptrace_prof {

Result<RemoteDaemon> AskDaemon(ptraceprof::v1::NodeService::Stub& stub);

}  // namespace ptrace_prof
