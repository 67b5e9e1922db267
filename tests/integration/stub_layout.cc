// stub_layout PID: what the stub must be told about that interpreter, one "name value" a line: hex (PY_VERSION_HEX),
// tag_mask, and every field of the Layout. For tests that play the collector without injecting.
#include <cstdio>
#include <cstdlib>

#include "attach/proc/process_memory.h"
#include "symbolizer/cpython/python_process.h"

int main(int argc, char** argv) {
  using namespace ptrace_prof;
  if (argc != 2) return 2;
  const Pid pid{std::atoi(argv[1])};
  ProcessMemory memory(pid);
  const auto process = PythonProcess::Open(pid, memory);
  if (!process.has_value()) {
    std::fprintf(stderr, "%s\n", process.error().message.c_str());
    return 1;
  }
  const Layout& layout = process.value().layout;
  const PythonVersion& v = layout.version;
  std::printf("hex %u\n", unsigned(v.major) << 24 | unsigned(v.minor) << 16 | unsigned(v.micro) << 8 |
                              unsigned(v.release_level) << 4 | v.serial);
  std::printf("tag_mask %llu\n", static_cast<unsigned long long>(layout.frame_tag_mask));
  std::printf("%s", ToString(layout).c_str());
}
