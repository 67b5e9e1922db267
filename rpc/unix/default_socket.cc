#include "rpc/unix/default_socket.h"

#include <cstdlib>

namespace ptrace_prof {

std::string DefaultSocket(Uid user) {
  constexpr char kFile[] = "/ptrace-prof/ptrace-prof.sock";
  if (user.value == 0) {
    return std::string("/run") + kFile;
  }
  const char* folder = std::getenv("XDG_RUNTIME_DIR");
  return folder == nullptr || *folder == '\0' ? std::string() : folder + std::string(kFile);
}

}  // namespace ptrace_prof
