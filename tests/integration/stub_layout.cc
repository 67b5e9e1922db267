// stub_layout PID: what the collector passes to the stub about that interpreter, one "name value" a line: python_traits
// (pp_python_trait), frame_tag_mask, and the offsets by their names. For tests that act as the collector without
// injecting.
#include <cstdio>
#include <cstdlib>

#include "attach/proc/process_memory.h"
#include "daemon/collector/calls/stub_boot.h"
#include "symbolizer/cpython/python_process.h"

#define PP_OFFSET_NAME(name) #name,
constexpr const char* kOffsets[] = {PP_FOR_EACH_OFFSET(PP_OFFSET_NAME)};

int main(int argc, char** argv) {
  using namespace ptrace_prof;
  if (argc != 2) return 2;
  const Pid pid{std::atoi(argv[1])};
  ProcessMemory memory(pid);
  const auto process = PythonProcess::Open(pid, memory);
  const auto boot = process.has_value() ? DescribeForStub(pid, memory, process.value()) : process.error();
  if (boot.has_error()) {
    std::fprintf(stderr, "%s\n", boot.error().message.c_str());
    return 1;
  }
  std::printf("python_traits %u\nframe_tag_mask %u\n", boot.value().python_traits, boot.value().frame_tag_mask);
  for (size_t i = 0; i < std::size(kOffsets); ++i) std::printf("%s %u\n", kOffsets[i], boot.value().offsets[i]);
}
