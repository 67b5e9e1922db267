// What the environment of a process says about its launch: its rank, its Slurm job, its image.
//
// Pure functions over the target's own text (hostile): invalid numbers are ignored, names are cut.
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
  std::string apptainer;  // name of the image, if Apptainer or Singularity started it
};

// Notes "NAME=value" if the name is relevant. The first one of a name wins, as for getenv(3).
void NoteVariable(std::string_view variable, LaunchFacts& facts);
// `text`: the content of /proc/<pid>/environ.
LaunchFacts ParseEnvironment(std::string_view text);

}  // namespace ptrace_prof
