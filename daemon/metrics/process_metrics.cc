#include "daemon/metrics/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace ptrace_prof {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Field `index` (from 0) of /proc/self/statm, in bytes.
double MemoryBytes(int index) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen("/proc/self/statm", "re"), &::fclose);
  unsigned long long pages[2] = {};
  if (file == nullptr || ::fscanf(file.get(), "%llu %llu", &pages[0], &pages[1]) != 2) {
    return 0;
  }
  return static_cast<double>(pages[index]) * static_cast<double>(::sysconf(_SC_PAGESIZE));
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
  text.Family("process_cpu_seconds_total", MetricKind::kCounter, "CPU time of the daemon's main process.");
  text.Sample(Seconds(used.ru_utime) + Seconds(used.ru_stime));
  text.Family("process_resident_memory_bytes", MetricKind::kGauge, "Memory of the daemon's main process.");
  text.Sample(MemoryBytes(1));
  text.Family("process_virtual_memory_bytes", MetricKind::kGauge, "Address space of the daemon's main process.");
  text.Sample(MemoryBytes(0));
  text.Family("process_open_fds", MetricKind::kGauge, "Descriptors of the daemon's main process.");
  text.Sample(OpenDescriptors());
}

}  // namespace ptrace_prof
