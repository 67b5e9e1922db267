#include "client/cli/inspect/inspection_json.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <array>

#include "client/cli/inspect/verdict_word.h"
#include "client/cli/json_text.h"

namespace ptrace_prof {
namespace {

using InspectionWriter = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

constexpr std::array<const char*, 3> kKindNames = {"python", "library-only", "ended"};

// Writes null for unknown text.
void PutOrNull(InspectionWriter& json, const char* key, std::string_view text) {
  if (!text.empty()) {
    return Put(json, key, text);
  }
  json.Key(key);
  json.Null();
}

void PutOrNull(InspectionWriter& json, const char* key, const std::optional<int32_t>& number) {
  json.Key(key);
  number.has_value() ? json.Int(*number) : json.Null();
}

void PutEntry(InspectionWriter& json, const ProcessEntry& entry, UserNames& users) {
  json.StartObject();
  Put(json, "pid", entry.pid.value);
  Put(json, "namespace_pid", entry.ns_pid.value);
  Put(json, "parent_pid", entry.parent_pid.value);
  Put(json, "uid", entry.uid.value);
  Put(json, "user", users.Of(entry.uid));
  Put(json, "kind", kKindNames[static_cast<size_t>(entry.kind) % kKindNames.size()]);
  Put(json, "name", entry.name);
  PutList(json, "command_line", entry.cmdline);
  json.Key("start_time_s");
  json.Double(entry.start_time.seconds());
  PutOrNull(json, "python", entry.python);
  PutOrNull(json, "container_runtime", entry.container_runtime);
  PutOrNull(json, "container", entry.container);
  PutOrNull(json, "slurm_job", entry.slurm_job);
  PutOrNull(json, "slurm_step", entry.slurm_step);
  PutOrNull(json, "rank", entry.rank);
  PutOrNull(json, "world_size", entry.world_size);
  PutOrNull(json, "local_rank", entry.local_rank);
  PutList(json, "gpu_libraries", entry.gpu_libraries);
  Put(json, "profilable", entry.profilable);
  PutOrNull(json, "reason_code", ReasonName(entry.reason));
  Put(json, "reason", entry.cause);
  Put(json, "remedy", entry.remedy);
  json.EndObject();
}

std::string Finished(const rapidjson::StringBuffer& buffer) {
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace

std::string PsJson(std::span<const ProcessEntry> entries, UserNames& users) {
  rapidjson::StringBuffer buffer;
  InspectionWriter json(buffer);
  json.SetIndent(' ', 1);
  json.StartArray();
  for (const ProcessEntry& entry : entries) {
    PutEntry(json, entry, users);
  }
  json.EndArray();
  return Finished(buffer);
}

std::string DoctorJson(const Inspection& inspection, Pid pid) {
  rapidjson::StringBuffer buffer;
  InspectionWriter json(buffer);
  json.SetIndent(' ', 1);
  json.StartObject();
  Put(json, "schema", "ptrace-prof.doctor/1");
  json.Key("pid");
  pid.value != 0 ? json.Int(pid.value) : json.Null();
  Put(json, "result", CodeName(OutcomeFor(inspection, pid)));
  json.Key("checks");
  json.StartArray();
  for (const Check& check : inspection.checks) {
    json.StartObject();
    Put(json, "about", check.pid.value == 0 ? "node" : "process");
    Put(json, "subject", check.subject);
    Put(json, "verdict", VerdictWord(check.verdict));
    PutOrNull(json, "reason", ReasonName(check.reason));
    Put(json, "cause", check.cause);
    Put(json, "remedy", check.remedy);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return Finished(buffer);
}

}  // namespace ptrace_prof
