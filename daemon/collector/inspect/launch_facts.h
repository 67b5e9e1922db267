// What the environment of a process tells about how it was launched: its rank among others, its Slurm job, its image.
//
// Pure functions over the target's own text (hostile): numbers that are none are ignored, names are cut.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ptrace_prof {

struct LaunchFacts {
  std::optional<int32_t> rank;
  std::optional<int32_t> world_size;
  std::optional<int32_t> local_rank;
  std::string slurm_job;
  std::string slurm_step;
  std::string apptainer;  // name of the image, where Apptainer or Singularity started it
};

// Notes "NAME=value" if it is one that counts; the first one of a name wins, as it does for getenv(3).
void NoteVariable(std::string_view variable, LaunchFacts& facts);
// The text of /proc/<pid>/environ.
LaunchFacts ParseEnvironment(std::string_view text);

}  // namespace ptrace_prof
