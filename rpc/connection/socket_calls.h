// How many calls are open on a connection, as gRPC's own book-keeping (channelz) says: those too of which no service
// knows yet.
//
// gRPC 1.51 holds a client to the number of calls that it may have at once, and to the size of their metadata, only
// from the moment at which the client confirms these limits (SETTINGS with ACK). One that never does may begin any
// number of calls, each of which costs some 12 KiB before a service hears of it; whoever counts them here can turn it
// away. Facts: grpc_channelz_get_socket in grpc/grpc.h; a connection that was handed to gRPC is named "fd:N" there.
#pragma once

#include <cstdint>

#include "attach/base/types.h"

namespace ptrace_prof {

using SocketId = StrongId<struct SocketIdTag, int64_t>;  // 0: not known

// Of the connection that was handed, as this descriptor, to the newest server just now. Nobody else may make a server
// meanwhile. Looks at few numbers only: what another thread is still making must not be looked at.
SocketId FindSocket(int fd);
// Thread-safe. 0 of one that has gone.
uint64_t CountOpenCalls(SocketId socket);

}  // namespace ptrace_prof
