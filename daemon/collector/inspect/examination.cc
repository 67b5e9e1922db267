#include "daemon/collector/inspect/examination.h"

#include <cerrno>
#include <cstring>

#include "attach/base/byte_reader.h"
#include "attach/proc/access_diagnosis.h"
#include "daemon/trace/extension_codec.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kLongestAnswer = 1 << 20;

bool Send(Outcome outcome, const ProcessEntry& entry, ByteSink& sink) {
  WireEncoder encoded;
  EncodeProcessEntry(entry, encoded);
  const auto size = static_cast<uint32_t>(encoded.buffer().size());
  std::string bytes(1, static_cast<char>(outcome));
  bytes.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes += encoded.buffer();
  return sink.Write(std::as_bytes(std::span(bytes))).has_value();
}

// A denial without a reason came from the kernel.
void Explain(const Denial& denial, ProcessEntry& entry) {
  const bool by_kernel = !denial.error || denial.error->reason == Reason::kUnspecified;
  const Error error = by_kernel ? ExplainRefusal(entry.pid, EPERM, denial.asker) : *denial.error;
  entry.profilable = false;
  entry.cause = error.message;
  entry.reason = ReasonOf(error);
  entry.remedy = error.remedy;
}

// Takes only what the child may determine. All other fields were known before.
void TakeFindings(ProcessEntry&& found, ProcessEntry& entry) {
  entry.kind = found.kind == ProcessKind::kLibraryOnly ? ProcessKind::kLibraryOnly : ProcessKind::kPython;
  entry.python = std::move(found.python);
  entry.container_runtime = std::move(found.container_runtime);
  entry.container = std::move(found.container);
  entry.slurm_job = std::move(found.slurm_job);
  entry.slurm_step = std::move(found.slurm_step);
  entry.rank = found.rank;
  entry.world_size = found.world_size;
  entry.local_rank = found.local_rank;
  entry.gpu_libraries = std::move(found.gpu_libraries);
  entry.profilable = found.profilable;
  entry.cause = std::move(found.cause);
  entry.reason = found.reason;
  entry.remedy = std::move(found.remedy);
}

}  // namespace

void AnswerAll(std::span<const Candidate* const> candidates, OnRefusal on_refusal, const Denial& denial,
               ByteSink& sink) {
  TargetExaminer examiner;
  for (const Candidate* candidate : candidates) {
    ProcessEntry entry = candidate->entry;
    Outcome outcome = denial.error ? Outcome::kRefused : examiner.Examine(*candidate, entry);
    if (outcome == Outcome::kRefused && on_refusal == OnRefusal::kReportWhy) {
      // Without access it is not known what the program is. Only its name can show that it is Python.
      outcome = candidate->kind == CandidateKind::kUnknownProgram ? Outcome::kNotPython : Outcome::kListed;
      Explain(denial, entry);
    }
    if (!Send(outcome, entry, sink)) {
      return;
    }
  }
}

std::vector<Answer> ReadAnswers(std::string_view bytes, std::span<const Candidate* const> candidates) {
  std::vector<Answer> answers;
  ByteReader reader(std::span(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
  for (const Candidate* candidate : candidates) {
    uint8_t outcome = 0;
    uint32_t size = 0;
    std::span<const uint8_t> encoded;
    if (!reader.Read(&outcome) || !reader.Read(&size) || outcome > static_cast<uint8_t>(Outcome::kRefused) ||
        size > kLongestAnswer || !reader.Take(size, &encoded)) {
      break;
    }
    Answer& answer = answers.emplace_back();
    answer.outcome = static_cast<Outcome>(outcome);
    answer.entry = candidate->entry;
    TakeFindings(DecodeProcessEntry({reinterpret_cast<const char*>(encoded.data()), encoded.size()}), answer.entry);
  }
  return answers;
}

}  // namespace ptrace_prof
