// The forms that runtimes and Slurm give to /proc/<pid>/cgroup, as they were seen on real nodes.
#include "attach/proc/cgroup_facts.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

struct CgroupCase {
  const char* what;
  const char* text;
  const char* runtime;
  const char* container;
  const char* job;
  const char* step;
};

const CgroupCase kCgroupCases[] = {
    {"a desktop", "0::/user.slice/user-1000.slice/session-3.scope\n", "", "", "", ""},
    {"the root", "0::/\n", "", "", "", ""},
    {"nothing", "", "", "", "", ""},
    {"docker, version 2", "0::/system.slice/docker-" HEX64 ".scope\n", "docker", "0123456789ab", "", ""},
    {"docker, version 1", "12:pids:/docker/" HEX64 "\n1:name=systemd:/docker/" HEX64 "\n", "docker", "0123456789ab", "",
     ""},
    {"podman", "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" HEX64 ".scope/container\n",
     "podman", "0123456789ab", "", ""},
    {"podman's monitor", "0::/machine.slice/libpod-conmon-" HEX64 ".scope\n", "", "", "", ""},
    {"kubernetes, systemd driver",
     "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod1a2b.slice/cri-containerd-" HEX64 ".scope\n",
     "kubernetes", "0123456789ab", "", ""},
    {"kubernetes, cgroupfs driver", "4:memory:/kubepods/burstable/pod0f9e-11/" HEX64 "\n", "kubernetes", "0123456789ab",
     "", ""},
    {"kubernetes, colons",
     "0::/system.slice/containerd.service/kubepods-besteffort-podX.slice:cri-containerd:" HEX64 "\n", "kubernetes",
     "0123456789ab", "", ""},
    {"cri-o", "0::/machine.slice/crio-" HEX64 ".scope\n", "cri-o", "0123456789ab", "", ""},
    {"lxc", "0::/lxc.payload.web1/init.scope\n", "lxc", "web1", "", ""},
    {"old lxc", "3:cpu:/lxc/db-2\n", "lxc", "db-2", "", ""},
    {"nspawn", "0::/machine.slice/machine-builder.scope\n", "machine", "builder", "", ""},
    {"a service that is called so", "0::/system.slice/machine-check.service\n", "", "", "", ""},
    {"slurm, version 1", "9:memory:/slurm/uid_1000/job_4711/step_0/task_3\n", "", "", "4711", "0"},
    {"slurm, version 2", "0::/system.slice/slurmstepd.scope/job_12/step_batch/user/task_0\n", "", "", "12", "batch"},
    {"slurm with the job only", "8:cpuset:/slurm_node1/uid_5/job_7\n", "", "", "7", ""},
    {"docker under slurm", "0::/system.slice/slurmstepd.scope/job_12/step_extern/docker-" HEX64 ".scope\n", "docker",
     "0123456789ab", "12", "extern"},
    {"job_ elsewhere", "0::/runner/job_99/step_1\n", "", "", "", ""},
    {"job_ without a number", "0::/slurm/job_x/step_1\n", "", "", "", "1"},
    {"a short hex name", "0::/docker/abc\n", "", "", "", ""},
    {"garbage", "docker-\n::::///\n0::/docker-/.scope/lxc/\n", "", "", "", ""},
};

TEST(CgroupFacts, KnowsTheForms) {
  for (const CgroupCase& one : kCgroupCases) {
    const CgroupFacts facts = ParseCgroup(one.text);
    EXPECT_EQ(facts.container_runtime, one.runtime) << one.what;
    EXPECT_EQ(facts.container, one.container) << one.what;
    EXPECT_EQ(facts.slurm_job, one.job) << one.what;
    EXPECT_EQ(facts.slurm_step, one.step) << one.what;
  }
}

}  // namespace
}  // namespace ptrace_prof
