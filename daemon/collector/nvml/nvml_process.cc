#include "daemon/collector/nvml/nvml_process.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "attach/base/root_environment.h"
#include "daemon/collector/nvml/nvml_image.h"

#ifndef MFD_EXEC
#define MFD_EXEC 0x10U
#endif

namespace ptrace_prof {
namespace {

constexpr int kEndingMs = 100;  // if it is deep in the driver, it ends later without us

// The program lies in a memory file: nothing is installed, and nothing is left behind.
Result<UniqueFd> ImageFile() {
  UniqueFd file(static_cast<int>(::syscall(SYS_memfd_create, "ptrace-prof-nvml", MFD_CLOEXEC | MFD_EXEC)));
  if (!file.is_open() && errno == EINVAL) {  // before Linux 6.3
    file.reset(static_cast<int>(::syscall(SYS_memfd_create, "ptrace-prof-nvml", MFD_CLOEXEC)));
  }
  if (!file.is_open()) {
    return ErrnoError(errno, "cannot make a file in memory");
  }
  for (std::span<const std::byte> rest = NvmlImage(); !rest.empty();) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written <= 0) {
      return ErrnoError(written < 0 ? errno : EIO, "cannot write a file in memory");
    }
    rest = rest.subspan(static_cast<size_t>(written));
  }
  return file;
}

[[noreturn]] void Become(int image, int out, pid_t parent, const std::string& pause_ms) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const auto resource : {RLIMIT_CORE, RLIMIT_MSGQUEUE}) {  // the library's needs of other resources are not known
    const rlimit none{0, 0};
    ::setrlimit(resource, &none);
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (::getppid() == parent && null >= 0 && ::dup2(null, STDIN_FILENO) >= 0 && ::dup2(null, STDERR_FILENO) >= 0 &&
      ::dup2(out, STDOUT_FILENO) >= 0) {
    std::string name = "ptrace-prof-nvml";
    std::string pause = pause_ms;
    std::array<char*, 3> arguments = {name.data(), pause.data(), nullptr};
    // With an empty environment, a library loaded on behalf of another user is the system's.
    char* nothing = nullptr;
    ::syscall(SYS_execveat, image, "", arguments.data(), IsRootForAnother() ? &nothing : environ, AT_EMPTY_PATH);
  }
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<NvmlProcess>> NvmlProcess::Start(int pause_ms) {
  PP_ASSIGN_OR_RETURN(const UniqueFd image, ImageFile());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return ErrnoError(errno, "cannot make a pipe to the helper program");
  }
  UniqueFd ours(ends[0]);
  const UniqueFd theirs(ends[1]);
  ::fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    return ErrnoError(errno, "cannot start the helper program");
  }
  if (child == 0) {
    Become(image.get(), theirs.get(), parent, std::to_string(pause_ms));
  }
  return std::unique_ptr<NvmlProcess>(new NvmlProcess(std::move(ours), Pid(child)));
}

NvmlProcess::~NvmlProcess() {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, child_.value, 0)));
  pipe_.reset();  // the helper notices
  pollfd ended{pidfd.get(), POLLIN, 0};
  ::poll(&ended, 1, kEndingMs);
  ::waitpid(child_.value, nullptr, WNOHANG);
}

}  // namespace ptrace_prof
