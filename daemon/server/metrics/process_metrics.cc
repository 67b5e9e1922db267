#include "daemon/server/metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>

#include "attach/base/own_memory.h"

namespace ptrace_prof {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

int OpenDescriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), &::closedir);
  int count = 0;
  while (folder != nullptr && ::readdir(folder.get()) != nullptr) {
    ++count;
  }
  return count > 3 ? count - 3 : 0;  // ".", ".." and the folder itself
}

}  // namespace

void PutProcess(MetricsText& text) {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const OwnMemory memory = ReadOwnMemory();
  text.Family("process_cpu_seconds_total", MetricKind::kCounter, "CPU time of the daemon's main process.");
  text.Sample(Seconds(used.ru_utime) + Seconds(used.ru_stime));
  text.Family("process_resident_memory_bytes", MetricKind::kGauge, "Memory of the daemon's main process.");
  text.Sample(static_cast<double>(memory.resident));
  text.Family("process_virtual_memory_bytes", MetricKind::kGauge, "Address space of the daemon's main process.");
  text.Sample(static_cast<double>(memory.address_space));
  text.Family("process_open_fds", MetricKind::kGauge, "Descriptors of the daemon's main process.");
  text.Sample(OpenDescriptors());
}

}  // namespace ptrace_prof
