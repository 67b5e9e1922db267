#include "client/cli/inspect/dump_json.h"

#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <array>

#include "attach/base/clean_text.h"
#include "client/cli/json_text.h"

namespace ptrace_prof {
namespace {

using DumpWriter = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

constexpr std::array<const char*, 7> kDumpStateNames = {"unknown",  "running",   "gil-wait",   "idle",
                                                        "gpu-wait", "disk-wait", "job-stopped"};
constexpr std::array<const char*, kSampleQualityCount> kQualityNames = {
    "seen", "stopped", "truncated", "too-deep", "unverified", "torn", "stale-names"};

// Writes null for an unknown number.
void PutKnown(DumpWriter& json, const char* key, int32_t number, int32_t first_known) {
  json.Key(key);
  number >= first_known ? json.Int(number) : json.Null();
}

void PutFrame(DumpWriter& json, const Frame& frame, const std::vector<LocalVariable>* locals) {
  json.StartObject();
  Put(json, "function", frame.function);
  Put(json, "file", frame.file);
  PutKnown(json, "line", frame.line, 1);
  PutKnown(json, "end_line", frame.end_line, 1);
  PutKnown(json, "column", frame.column, 0);
  PutKnown(json, "end_column", frame.end_column, 0);
  PutKnown(json, "first_line", frame.first_line, 1);
  Put(json, "marker", frame.kind == FrameKind::kMarker);
  if (locals != nullptr) {
    json.Key("locals");
    json.StartArray();
    for (const LocalVariable& local : *locals) {
      json.StartObject();
      Put(json, "name", local.name);
      Put(json, "value", local.value);
      Put(json, "argument", local.is_argument);
      json.EndObject();
    }
    json.EndArray();
  }
  json.EndObject();
}

void PutThread(DumpWriter& json, const DumpedThread& thread) {
  json.StartObject();
  Put(json, "tid", thread.info.tid.value);
  Put(json, "namespace_tid", thread.info.ns_tid.value);
  Put(json, "name", thread.info.name);
  Put(json, "python_ident", thread.info.python_ident);
  Put(json, "interpreter", thread.info.interpreter_id);
  Put(json, "main", thread.info.is_main);
  Put(json, "state", kDumpStateNames[static_cast<size_t>(thread.state) % kDumpStateNames.size()]);
  Put(json, "detail", thread.detail);
  Put(json, "holds_gil", thread.holds_gil);
  Put(json, "quality", kQualityNames[static_cast<size_t>(thread.quality) % kQualityNames.size()]);
  json.Key("frames");
  json.StartArray();
  for (uint32_t i = 0; i < thread.frames.size(); ++i) {
    const auto locals = thread.locals.find(i);
    PutFrame(json, thread.frames[i], locals == thread.locals.end() ? nullptr : &locals->second);
  }
  json.EndArray();
  json.EndObject();
}

}  // namespace

std::string DumpJson(std::span<const DumpedProcess> processes) {
  rapidjson::StringBuffer buffer;
  DumpWriter json(buffer);
  json.SetIndent(' ', 1);
  json.StartObject();
  Put(json, "schema", "ptrace-prof.dump/1");
  json.Key("processes");
  json.StartArray();
  for (const DumpedProcess& process : processes) {
    json.StartObject();
    Put(json, "pid", process.info.pid.value);
    Put(json, "namespace_pid", process.info.ns_pid.value);
    Put(json, "parent_pid", process.info.parent_pid.value);
    Put(json, "name", process.info.name);
    json.Key("command_line");
    json.StartArray();
    for (const std::string& word : process.info.cmdline) {
      const std::string clean = CleanText(word);
      json.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
    }
    json.EndArray();
    Put(json, "python", process.info.python);
    json.Key("threads");
    json.StartArray();
    for (const DumpedThread& thread : process.threads) {
      PutThread(json, thread);
    }
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace ptrace_prof
