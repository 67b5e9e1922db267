// Feeds any bytes to what listings and diagnoses parse: text of /proc, environments, and the answers of a child that a
// target may have subverted.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "attach/proc/cgroup_facts.h"
#include "daemon/collector/inspect/examination.h"
#include "daemon/collector/inspect/launch_facts.h"
#include "daemon/collector/inspect/node_facts.h"
#include "daemon/collector/inspect/process_scan.h"

namespace ptrace_prof {
namespace {

void Require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

void Run(std::string_view bytes) {
  const CgroupFacts cgroup = ParseCgroup(bytes);
  Require(cgroup.container.size() <= 64 && cgroup.slurm_job.size() <= 20 && cgroup.slurm_step.size() <= 64);
  Require(cgroup.container.empty() == cgroup.container_runtime.empty());

  const LaunchFacts launch = ParseEnvironment(bytes);
  Require(launch.slurm_job.size() <= 64 && launch.slurm_step.size() <= 64 && launch.apptainer.size() <= 64);

  static_cast<void>(ParseHidepid(bytes));
  const bool mentions = MapsMentionPython(bytes);
  Require(!mentions || bytes.find("py") != std::string_view::npos);

  Candidate candidate;
  candidate.entry.pid = Pid(12);
  candidate.entry.name = "python3";
  const Candidate* const asked[] = {&candidate, &candidate};
  for (const Answer& answer : ReadAnswers(bytes, asked)) {
    Require(answer.outcome <= Outcome::kRefused);
    Require(answer.entry.pid == Pid(12) && answer.entry.name == "python3" && answer.entry.cmdline.empty());
    Require(answer.entry.kind <= ProcessKind::kLibraryOnly);
  }
}

}  // namespace
}  // namespace ptrace_prof

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ptrace_prof::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
