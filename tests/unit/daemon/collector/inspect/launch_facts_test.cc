#include "daemon/collector/inspect/launch_facts.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

using namespace std::string_view_literals;

TEST(LaunchFacts, ReadsWhatCounts) {
  const LaunchFacts facts = ParseEnvironment(
      "PATH=/bin\0RANK=3\0WORLD_SIZE=8\0LOCAL_RANK=1\0SLURM_JOB_ID=4711\0SLURM_STEP_ID=0\0"
      "APPTAINER_CONTAINER=/images/torch.sif\0"sv);
  EXPECT_EQ(facts.rank, 3);
  EXPECT_EQ(facts.world_size, 8);
  EXPECT_EQ(facts.local_rank, 1);
  EXPECT_EQ(facts.slurm_job, "4711");
  EXPECT_EQ(facts.slurm_step, "0");
  EXPECT_EQ(facts.apptainer, "torch.sif");
}

TEST(LaunchFacts, TheFirstOfANameWins) {
  EXPECT_EQ(ParseEnvironment("RANK=1\0RANK=2\0"sv).rank, 1);
  EXPECT_EQ(ParseEnvironment("SLURM_JOB_ID=1\0SLURM_JOBID=2\0"sv).slurm_job, "1");
}

TEST(LaunchFacts, IgnoresWhatIsNoNumber) {
  for (const std::string_view text : {"RANK="sv, "RANK=x"sv, "RANK=1x"sv, "RANK= 1"sv, "RANK=99999999999"sv, "RANK"sv,
                                      "=1"sv, ""sv, "\0\0\0"sv, "MYRANK=1"sv, "RANKS=1"sv}) {
    EXPECT_FALSE(ParseEnvironment(text).rank.has_value()) << text;
  }
  EXPECT_EQ(ParseEnvironment("RANK=-1"sv).rank, -1);
}

TEST(LaunchFacts, BoundsWhatItKeeps) {
  EXPECT_EQ(ParseEnvironment("SLURM_JOB_ID=" + std::string(5000, '7')).slurm_job.size(), 64u);
}

}  // namespace
}  // namespace ptrace_prof
