#include "daemon/collector/inspect/launch_facts.h"

#include <algorithm>
#include <charconv>

namespace ptrace_prof {
namespace {

constexpr size_t kLongestText = 64;

struct NumberRow {
  std::string_view name;
  std::optional<int32_t> LaunchFacts::*member;
};
constexpr NumberRow kNumbers[] = {
    {"RANK", &LaunchFacts::rank},
    {"WORLD_SIZE", &LaunchFacts::world_size},
    {"LOCAL_RANK", &LaunchFacts::local_rank},
};

struct TextRow {
  std::string_view name;
  std::string LaunchFacts::*member;
};
constexpr TextRow kTexts[] = {
    {"SLURM_JOB_ID", &LaunchFacts::slurm_job},        {"SLURM_JOBID", &LaunchFacts::slurm_job},
    {"SLURM_STEP_ID", &LaunchFacts::slurm_step},      {"SLURM_STEPID", &LaunchFacts::slurm_step},
    {"APPTAINER_CONTAINER", &LaunchFacts::apptainer}, {"SINGULARITY_CONTAINER", &LaunchFacts::apptainer},
};

std::optional<int32_t> Number(std::string_view text) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

}  // namespace

void NoteVariable(std::string_view variable, LaunchFacts& facts) {
  const size_t equals = variable.find('=');
  if (equals == std::string_view::npos) {
    return;
  }
  const std::string_view name = variable.substr(0, equals);
  std::string_view value = variable.substr(equals + 1);
  for (const NumberRow& row : kNumbers) {
    if (row.name == name && !(facts.*row.member).has_value()) {
      facts.*row.member = Number(value);
    }
  }
  for (const TextRow& row : kTexts) {
    if (row.name == name && (facts.*row.member).empty()) {
      if (row.member == &LaunchFacts::apptainer) {
        value.remove_prefix(value.rfind('/') + 1);
      }
      facts.*row.member = value.substr(0, kLongestText);
    }
  }
}

LaunchFacts ParseEnvironment(std::string_view text) {
  LaunchFacts facts;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\0'), text.size());
    NoteVariable(text.substr(0, end), facts);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return facts;
}

}  // namespace ptrace_prof
