#include "daemon/collector/inspect/target_examiner.h"

#include <sys/sysmacros.h>

#include <algorithm>
#include <cerrno>

#include "attach/base/base_name.h"
#include "attach/proc/mapped_file.h"
#include "attach/proc/memory_grants.h"
#include "attach/proc/proc_file.h"
#include "attach/proc/process_memory.h"
#include "attach/proc/procfs.h"
#include "daemon/collector/inspect/gpu_libraries.h"
#include "daemon/collector/inspect/launch_facts.h"
#include "daemon/collector/inspect/process_scan.h"
#include "symbolizer/elf/elf_image.h"

namespace ptrace_prof {
namespace {

MappedFileId ExecutableOf(Pid pid) {
  const Result<ExecutableId> id = ReadExecutableId(pid);
  if (id.has_error()) {
    return {};
  }
  return {major(id.value().device), minor(id.value().device), id.value().inode};
}

const MemoryRegion* FindProgram(const std::vector<MemoryRegion>& regions, const MappedFileId& program) {
  const auto found = std::ranges::find_if(
      regions, [&](const MemoryRegion& region) { return BeginsFile(region) && MappedFileId::Of(region) == program; });
  return found == regions.end() ? nullptr : &*found;
}

bool MapsLibrary(const std::vector<MemoryRegion>& regions) {
  return std::ranges::any_of(regions, [](const MemoryRegion& region) {
    const std::string_view name = BaseName(region.path);
    return name.starts_with("libpython") || name.starts_with("libpypy");
  });
}

// The current list in the C library wins; the environment at the start fills the gaps.
void Merge(const LaunchFacts& now, const LaunchFacts& at_start, ProcessEntry& entry) {
  const auto known = [](const auto& first, const auto& second) { return first.has_value() ? first : second; };
  entry.rank = known(now.rank, at_start.rank);
  entry.world_size = known(now.world_size, at_start.world_size);
  entry.local_rank = known(now.local_rank, at_start.local_rank);
  if (entry.slurm_job.empty()) {  // the job cannot change what the cgroup says
    entry.slurm_job = now.slurm_job.empty() ? at_start.slurm_job : now.slurm_job;
    entry.slurm_step = now.slurm_step.empty() ? at_start.slurm_step : now.slurm_step;
  }
  const std::string& image = now.apptainer.empty() ? at_start.apptainer : now.apptainer;
  if (!image.empty() && (entry.container_runtime.empty() || entry.container_runtime == "namespace")) {
    entry.container_runtime = "apptainer";
    entry.container = image;
  }
}

}  // namespace

void TargetExaminer::NoteEnvironment(RemoteMemory& memory, const std::vector<MemoryRegion>& regions,
                                     ProcessEntry& entry) {
  LaunchFacts now;
  if (const auto variables = environ_.Read(memory, regions, ExecutableOf(entry.pid))) {
    for (const std::string& variable : *variables) {
      NoteVariable(variable, now);
    }
  }
  LaunchFacts at_start;
  if (const auto text = ReadEnviron(entry.pid); text.has_value()) {
    at_start = ParseEnvironment(text.value());
  }
  Merge(now, at_start, entry);
}

// Whether a Python is linked into the executable, whatever its name.
bool TargetExaminer::HoldsPython(Pid pid, RemoteMemory& memory, const std::vector<MemoryRegion>& regions) {
  const MemoryRegion* program = FindProgram(regions, ExecutableOf(pid));
  if (program == nullptr) {
    return false;
  }
  Result<ElfImage> elf = ElfImage::FromMemory(memory, program->start);
  if (elf.has_error()) {
    return false;
  }
  if (elf.value().FindSymbol("_PyRuntime")) {
    return true;
  }
  const Result<UniqueFd> file = OpenMappedFile(pid, *program);
  return file.has_value() && elf.value().AddFile(file.value().get(), FileParts::kSections).has_value() &&
         elf.value().FindSection(".PyRuntime").has_value();
}

Outcome TargetExaminer::Examine(const Candidate& candidate, ProcessEntry& entry) {
  const Pid pid = entry.pid;
  if (const int refused = ProbeMemory(pid); refused != 0) {
    return refused == ESRCH ? Outcome::kNotPython : Outcome::kRefused;
  }
  const Result<std::vector<MemoryRegion>> maps = ReadMaps(pid);
  if (maps.has_error()) {
    return maps.error().code == Code::kPermissionDenied ? Outcome::kRefused : Outcome::kNotPython;
  }
  const std::vector<MemoryRegion>& regions = maps.value();
  ProcessMemory memory(pid);
  if (candidate.kind == CandidateKind::kUnknownProgram && !HoldsPython(pid, memory, regions)) {
    return Outcome::kNotPython;
  }
  const Result<std::string> version = interpreters_.Version(pid, memory, regions);
  if (version.has_value()) {
    entry.python = version.value();
    entry.profilable = true;
  } else {
    const MemoryRegion* program = FindProgram(regions, ExecutableOf(pid));
    const bool named = program != nullptr && NamesPython(BaseName(program->path));
    const bool no_interpreter = version.error().code == Code::kFailedPrecondition;
    if (version.error().code == Code::kGone || (no_interpreter && !named && !MapsLibrary(regions))) {
      return Outcome::kNotPython;
    }
    entry.kind = no_interpreter && !named ? ProcessKind::kLibraryOnly : ProcessKind::kPython;
    entry.profilable = false;
    entry.cause = version.error().message;
    entry.reason = ReasonOf(version.error());
    entry.remedy = version.error().remedy;
  }
  entry.gpu_libraries = GpuLibraries(regions);
  NoteEnvironment(memory, regions, entry);
  return Outcome::kListed;
}

}  // namespace ptrace_prof
