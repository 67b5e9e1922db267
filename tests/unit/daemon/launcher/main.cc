// The unit tests of the launcher, and the collectors that it starts in them: this program again, as "__collector". Such
// a collector does what its one argument, do=…, names.

#include <dirent.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

void AwaitEnd(int control) {
  pollfd closed{control, POLLIN, 0};
  while (::poll(&closed, 1, -1) < 1) {
  }
}

int CountDescriptors() {
  int count = 0;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    count += entry->d_name[0] == '.' ? 0 : 1;
  }
  ::closedir(folder);
  return count - 1;  // minus the folder itself
}

std::string Describe() {
  std::string text = "uid=" + std::to_string(::getuid()) + " gid=" + std::to_string(::getgid()) + " groups=";
  gid_t groups[64];
  const int count = ::getgroups(64, groups);
  for (int i = 0; i < count; ++i) {
    text += std::to_string(groups[i]) + ",";
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  ::syscall(SYS_capget, &header, data);
  char permitted[32];
  ::snprintf(permitted, sizeof permitted, " capabilities=%x", data[0].permitted);
  text += permitted;
  text += " descriptors=" + std::to_string(CountDescriptors());
  text += " home=" + std::string(::getenv("HOME") == nullptr ? "" : ::getenv("HOME"));
  return text;
}

int ActAsCollector(char** argv) {
  const int stream = ::atoi(argv[2]);
  const int control = ::atoi(argv[3]);
  const std::string_view action = argv[4] == nullptr ? "" : argv[4];
  if (action == "do=describe") {
    const std::string text = Describe();
    (void)!::write(stream, text.data(), text.size());
    return 7;
  }
  (void)!::write(stream, "up", 2);
  if (action == "do=wait") {
    AwaitEnd(control);
    return 5;
  }
  while (true) {
    ::pause();  // do=nothing: does not even end
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 4 && std::string_view(argv[1]) == "__collector") {
    return ActAsCollector(argv);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
