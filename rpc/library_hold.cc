#include "rpc/library_hold.h"

#include <grpc/grpc.h>

#include <mutex>

namespace ptrace_prof {

void HoldLibrary() {
  static std::once_flag once;
  std::call_once(once, [] { ::grpc_init(); });
}

}  // namespace ptrace_prof
