// The part of extension_codec.h about listings and diagnoses: ProcessEntry and Check.
#include "daemon/trace/extension.pb.h"
#include "daemon/trace/extension_codec.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

using EntryFields = trace::ProcessEntry;

constexpr size_t kMaxWords = 4096;
constexpr size_t kMaxLibraries = 256;

struct TextField {
  int number;
  std::string ProcessEntry::*member;
};
constexpr TextField kTexts[] = {
    {EntryFields::kNameFieldNumber, &ProcessEntry::name},
    {EntryFields::kPythonFieldNumber, &ProcessEntry::python},
    {EntryFields::kContainerRuntimeFieldNumber, &ProcessEntry::container_runtime},
    {EntryFields::kContainerFieldNumber, &ProcessEntry::container},
    {EntryFields::kSlurmJobFieldNumber, &ProcessEntry::slurm_job},
    {EntryFields::kSlurmStepFieldNumber, &ProcessEntry::slurm_step},
    {EntryFields::kCauseFieldNumber, &ProcessEntry::cause},
    {EntryFields::kRemedyFieldNumber, &ProcessEntry::remedy},
};

struct PidField {
  int number;
  Pid ProcessEntry::*member;
};
constexpr PidField kPids[] = {
    {EntryFields::kPidFieldNumber, &ProcessEntry::pid},
    {EntryFields::kNsPidFieldNumber, &ProcessEntry::ns_pid},
    {EntryFields::kParentPidFieldNumber, &ProcessEntry::parent_pid},
};

struct OptionalField {
  int number;
  std::optional<int32_t> ProcessEntry::*member;
};
constexpr OptionalField kOptionals[] = {
    {EntryFields::kRankFieldNumber, &ProcessEntry::rank},
    {EntryFields::kWorldSizeFieldNumber, &ProcessEntry::world_size},
    {EntryFields::kLocalRankFieldNumber, &ProcessEntry::local_rank},
};

struct ListField {
  int number;
  std::vector<std::string> ProcessEntry::*member;
  size_t limit;
};
constexpr ListField kLists[] = {
    {EntryFields::kCmdlineFieldNumber, &ProcessEntry::cmdline, kMaxWords},
    {EntryFields::kGpuLibrariesFieldNumber, &ProcessEntry::gpu_libraries, kMaxLibraries},
};

// Returns the table's row for a field, or null.
template <typename Row, size_t N>
const Row* Find(const Row (&rows)[N], const WireField& field) {
  for (const Row& row : rows) {
    if (static_cast<uint32_t>(row.number) == field.number) {
      return &row;
    }
  }
  return nullptr;
}

void DecodeOther(const WireField& field, ProcessEntry& entry) {
  switch (field.number) {
    case EntryFields::kUidFieldNumber: entry.uid.value = static_cast<uint32_t>(field.value); break;
    case EntryFields::kStartTimeNsFieldNumber: entry.start_time.value = field.AsSigned(); break;
    case EntryFields::kProfilableFieldNumber: entry.profilable = field.value != 0; break;
    case EntryFields::kReasonFieldNumber: entry.reason = ReasonNamed(field.bytes); break;
    case EntryFields::kKindFieldNumber:
      if (field.value <= static_cast<uint64_t>(ProcessKind::kEnded)) {
        entry.kind = static_cast<ProcessKind>(field.value);
      }
      break;
    default: break;
  }
}

}  // namespace

void EncodeProcessEntry(const ProcessEntry& entry, WireEncoder& out) {
  for (const PidField& row : kPids) {
    out.SignedVarint(row.number, (entry.*row.member).value);
  }
  out.Varint(EntryFields::kUidFieldNumber, entry.uid.value);
  out.VarintIfSet(EntryFields::kKindFieldNumber, static_cast<uint64_t>(entry.kind));
  out.SignedVarint(EntryFields::kStartTimeNsFieldNumber, entry.start_time.value);
  out.VarintIfSet(EntryFields::kProfilableFieldNumber, entry.profilable ? 1 : 0);
  out.StringIfSet(EntryFields::kReasonFieldNumber, ReasonName(entry.reason));
  for (const TextField& row : kTexts) {
    out.StringIfSet(row.number, entry.*row.member);
  }
  for (const ListField& row : kLists) {
    for (const std::string& word : entry.*row.member) {
      out.Bytes(row.number, word);
    }
  }
  for (const OptionalField& row : kOptionals) {
    if (const std::optional<int32_t>& number = entry.*row.member) {
      out.SignedVarint(row.number, *number);
    }
  }
}

ProcessEntry DecodeProcessEntry(std::string_view message) {
  ProcessEntry entry;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    if (const TextField* text = Find(kTexts, field)) {
      entry.*text->member = field.bytes;
    } else if (const PidField* pid = Find(kPids, field)) {
      (entry.*pid->member).value = field.AsInt32();
    } else if (const OptionalField* optional = Find(kOptionals, field)) {
      entry.*optional->member = field.AsInt32();
    } else if (const ListField* list = Find(kLists, field)) {
      if ((entry.*list->member).size() < list->limit) {
        (entry.*list->member).emplace_back(field.bytes);
      }
    } else {
      DecodeOther(field, entry);
    }
  }
  return entry;
}

void EncodeCheck(const Check& check, WireEncoder& out) {
  out.VarintIfSet(trace::Check::kPidFieldNumber, static_cast<uint64_t>(check.pid.value));
  out.StringIfSet(trace::Check::kSubjectFieldNumber, check.subject);
  out.VarintIfSet(trace::Check::kVerdictFieldNumber, static_cast<uint64_t>(check.verdict));
  out.StringIfSet(trace::Check::kCauseFieldNumber, check.cause);
  out.StringIfSet(trace::Check::kRemedyFieldNumber, check.remedy);
  out.VarintIfSet(trace::Check::kCodeFieldNumber, static_cast<uint64_t>(check.code));
  out.StringIfSet(trace::Check::kReasonFieldNumber, ReasonName(check.reason));
}

Check DecodeCheck(std::string_view message) {
  Check check;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::Check::kPidFieldNumber: check.pid.value = field.AsInt32(); break;
      case trace::Check::kSubjectFieldNumber: check.subject = field.bytes; break;
      case trace::Check::kCauseFieldNumber: check.cause = field.bytes; break;
      case trace::Check::kRemedyFieldNumber: check.remedy = field.bytes; break;
      case trace::Check::kReasonFieldNumber: check.reason = ReasonNamed(field.bytes); break;
      case trace::Check::kVerdictFieldNumber:  // an unknown verdict must not pass as good
        check.verdict = field.value <= static_cast<uint64_t>(Verdict::kMissing) ? static_cast<Verdict>(field.value)
                                                                                : Verdict::kMissing;
        break;
      case trace::Check::kCodeFieldNumber:
        check.code = field.value <= static_cast<uint64_t>(Code::kUnauthenticated) ? static_cast<Code>(field.value)
                                                                                  : Code::kUnknown;
        break;
      default: break;
    }
  }
  return check;
}

}  // namespace ptrace_prof
