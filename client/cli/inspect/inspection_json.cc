#include "client/cli/inspect/inspection_json.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <array>

#include "attach/base/clean_text.h"
#include "client/cli/inspect/verdict_word.h"

namespace ptrace_prof {
namespace {

using Writer = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

constexpr std::array<const char*, 3> kKindNames = {"python", "library-only", "ended"};

void Text(Writer& json, std::string_view text) {
  const std::string clean = CleanText(text);
  json.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

void Put(Writer& json, const char* key, std::string_view text) {
  json.Key(key);
  Text(json, text);
}

// Writes null for unknown text.
void PutKnown(Writer& json, const char* key, std::string_view text) {
  if (!text.empty()) {
    return Put(json, key, text);
  }
  json.Key(key);
  json.Null();
}

void PutKnown(Writer& json, const char* key, const std::optional<int32_t>& number) {
  json.Key(key);
  number.has_value() ? json.Int(*number) : json.Null();
}

void PutNumber(Writer& json, const char* key, int64_t number) {
  json.Key(key);
  json.Int64(number);
}

void PutList(Writer& json, const char* key, const std::vector<std::string>& words) {
  json.Key(key);
  json.StartArray();
  for (const std::string& word : words) {
    Text(json, word);
  }
  json.EndArray();
}

void PutEntry(Writer& json, const ProcessEntry& entry, UserNames& users) {
  json.StartObject();
  PutNumber(json, "pid", entry.pid.value);
  PutNumber(json, "namespace_pid", entry.ns_pid.value);
  PutNumber(json, "parent_pid", entry.parent_pid.value);
  PutNumber(json, "uid", entry.uid.value);
  Put(json, "user", users.Of(entry.uid));
  Put(json, "kind", kKindNames[static_cast<size_t>(entry.kind) % kKindNames.size()]);
  Put(json, "name", entry.name);
  PutList(json, "command_line", entry.cmdline);
  json.Key("start_time_s");
  json.Double(entry.start_time.seconds());
  PutKnown(json, "python", entry.python);
  PutKnown(json, "container_runtime", entry.container_runtime);
  PutKnown(json, "container", entry.container);
  PutKnown(json, "slurm_job", entry.slurm_job);
  PutKnown(json, "slurm_step", entry.slurm_step);
  PutKnown(json, "rank", entry.rank);
  PutKnown(json, "world_size", entry.world_size);
  PutKnown(json, "local_rank", entry.local_rank);
  PutList(json, "gpu_libraries", entry.gpu_libraries);
  json.Key("profilable");
  json.Bool(entry.profilable);
  PutKnown(json, "reason_code", ReasonName(entry.reason));
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
  Writer json(buffer);
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
  Writer json(buffer);
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
    PutKnown(json, "reason", ReasonName(check.reason));
    Put(json, "cause", check.cause);
    Put(json, "remedy", check.remedy);
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return Finished(buffer);
}

}  // namespace ptrace_prof
