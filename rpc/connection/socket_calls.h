// Counts the open calls of a connection with gRPC's own accounting (channelz). It includes calls that no service has
// received yet.
//
// gRPC 1.51 enforces the limits on concurrent calls and metadata size only once the client has confirmed them (SETTINGS
// with ACK). A client that never does may begin any number of calls, at some 12 KiB each, before a service sees them.
// The count lets the server disconnect such a client. Source: grpc_channelz_get_socket in grpc/grpc.h; a connection
// that was handed to gRPC is named "fd:N" there.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

using SocketId = StrongId<struct SocketIdTag, int64_t>;  // 0: not known

// Finds the connection that was just handed, as this descriptor, to the newest server. No other thread may create a
// server meanwhile. Looks at few numbers only, because objects that another thread is still creating must not be read.
SocketId FindSocket(int fd);
// Thread-safe. Returns 0 for a closed connection.
uint64_t CountOpenCalls(SocketId socket);

}  // namespace ptrace_prof
