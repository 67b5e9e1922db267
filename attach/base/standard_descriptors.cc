#include "attach/base/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <initializer_list>

namespace ptrace_prof {

void OccupyStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) == -1) {
      (void)::open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR);  // open(2) takes the lowest free number,
                                                                           // which is fd
    }
  }
}

}  // namespace ptrace_prof
