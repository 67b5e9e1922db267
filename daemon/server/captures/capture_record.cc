#include "daemon/server/captures/capture_record.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "attach/base/hexadecimal.h"
#include "daemon/trace/extension_codec.h"
#include "daemon/trace/wire_encoder.h"
#include "rpc/messages/task_word.h"

namespace ptrace_prof {
namespace {

constexpr char kSchema[] = "ptrace-prof.capture/2";
constexpr std::array<const char*, 6> kStates = {"pending", "running", "draining", "succeeded", "failed", "cancelled"};

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void PutText(Writer& json, const char* key, const std::string& value) {
  json.Key(key);
  json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
}

void PutNumber(Writer& json, const char* key, uint64_t value) {
  json.Key(key);
  json.Uint64(value);
}

void PutTexts(Writer& json, const char* key, const std::vector<std::string>& values) {
  json.Key(key);
  json.StartArray();
  for (const std::string& value : values) {
    json.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  }
  json.EndArray();
}

void PutError(Writer& json, const Error& error) {
  json.Key("error");
  json.StartObject();
  PutNumber(json, "code", static_cast<uint64_t>(error.code));
  PutText(json, "reason", std::string(ReasonName(error.reason)));
  PutText(json, "message", error.message);
  PutText(json, "remedy", error.remedy);
  PutText(json, "thing", error.thing);
  json.EndObject();
}

// Reads the members of an object. A member that is missing, or of another type, reads as empty.
class Fields {
 public:
  explicit Fields(const rapidjson::Value& object) : object_(object) {}

  const rapidjson::Value* Find(const char* key) const {
    const auto at = object_.FindMember(key);
    return at == object_.MemberEnd() ? nullptr : &at->value;
  }
  std::string Text(const char* key) const { return TextOf(Find(key)); }
  uint64_t Number(const char* key) const {
    const auto* value = Find(key);
    return value != nullptr && value->IsUint64() ? value->GetUint64() : 0;
  }
  Nanos Time(const char* key) const { return Nanos(static_cast<int64_t>(Number(key) & INT64_MAX)); }
  bool Truth(const char* key) const {
    const auto* value = Find(key);
    return value != nullptr && value->IsBool() && value->GetBool();
  }
  std::vector<std::string> Texts(const char* key) const {
    std::vector<std::string> texts;
    if (const auto* value = Find(key); value != nullptr && value->IsArray()) {
      for (const auto& one : value->GetArray()) {
        texts.push_back(TextOf(&one));
      }
    }
    return texts;
  }

 private:
  static std::string TextOf(const rapidjson::Value* value) {
    return value != nullptr && value->IsString() ? std::string(value->GetString(), value->GetStringLength())
                                                 : std::string();
  }

  const rapidjson::Value& object_;
};

std::optional<Error> ErrorIn(const Fields& fields) {
  const auto* object = fields.Find("error");
  if (object == nullptr || !object->IsObject()) {
    return std::nullopt;
  }
  const Fields said(*object);
  const uint64_t code = std::min(said.Number("code"), static_cast<uint64_t>(Code::kUnauthenticated));
  return Error{static_cast<Code>(code), said.Text("message"), said.Text("remedy"), ReasonNamed(said.Text("reason")),
               said.Text("thing")};
}

Error NoRecord(std::string_view what) {
  return {Code::kDataLoss, fmt::format("not a valid record of a capture: {}", what), ""};
}

Result<CaptureSnapshot> StateIn(const Fields& fields) {
  CaptureSnapshot state;
  const auto* named = std::find(kStates.begin(), kStates.end(), fields.Text("state"));
  if (named == kStates.end()) {
    return NoRecord("its state is unknown");
  }
  state.state = static_cast<CaptureState>(named - kStates.begin());
  state.created = fields.Time("created");
  state.started = fields.Time("started");
  state.ended = fields.Time("ended");
  state.trace_bytes = fields.Number("trace_bytes");
  state.totals = DecodeAccounting(FromHexadecimal(fields.Text("totals")).value_or(""));
  if (const auto mode = static_cast<int>(fields.Number("mode"));
      fields.Find("mode") != nullptr && v1::Mode_IsValid(mode)) {
    state.mode = static_cast<v1::Mode>(mode);
  }
  state.sampled_because = fields.Text("sampled_because");
  state.error = ErrorIn(fields);
  state.end_message = fields.Text("end_message");
  state.notices = fields.Texts("notices");
  return state;
}

}  // namespace

std::string EncodeRecord(const CaptureRecord& record) {
  const CaptureParameters& asked = record.parameters;
  const CaptureSnapshot& state = record.state;
  rapidjson::StringBuffer text;
  Writer json(text);
  json.StartObject();
  PutText(json, "schema", kSchema);
  PutText(json, "id", asked.id);
  PutText(json, "request_id", asked.request_id);
  PutNumber(json, "owner_uid", asked.owner.uid);
  json.Key("is_administrators");
  json.Bool(asked.owner.is_administrator);
  PutText(json, "asked", ToHexadecimal(asked.asked));
  PutText(json, "task", EncodeTask(asked.request));
  PutNumber(json, "max_bytes", asked.max_bytes);
  json.Key("keep");
  json.Bool(asked.keep);
  PutText(json, "state", kStates[static_cast<size_t>(state.state)]);
  PutNumber(json, "created", static_cast<uint64_t>(state.created.value));
  PutNumber(json, "started", static_cast<uint64_t>(state.started.value));
  PutNumber(json, "ended", static_cast<uint64_t>(state.ended.value));
  PutNumber(json, "trace_bytes", state.trace_bytes);
  WireEncoder totals;
  EncodeAccounting(state.totals, totals);
  PutText(json, "totals", ToHexadecimal(totals.buffer()));
  if (state.mode.has_value()) {
    PutNumber(json, "mode", static_cast<uint64_t>(*state.mode));
  }
  PutText(json, "sampled_because", state.sampled_because);
  if (state.error.has_value()) {
    PutError(json, *state.error);
  }
  PutText(json, "end_message", state.end_message);
  PutTexts(json, "notices", state.notices);
  json.EndObject();
  return std::string(text.GetString(), text.GetSize()) + "\n";
}

Result<CaptureRecord> DecodeRecord(std::string_view text) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError() || !document.IsObject()) {
    return NoRecord("it is incomplete");
  }
  const Fields fields(document);
  if (fields.Text("schema") != kSchema) {
    return NoRecord("it has another version");
  }
  CaptureRecord record;
  record.parameters.id = fields.Text("id");
  record.parameters.request_id = fields.Text("request_id");
  record.parameters.asked = FromHexadecimal(fields.Text("asked")).value_or("");
  record.parameters.owner = {static_cast<uint32_t>(fields.Number("owner_uid")), fields.Truth("is_administrators")};
  record.parameters.max_bytes = fields.Number("max_bytes");
  record.parameters.keep = fields.Truth("keep");
  if (const auto* owner = fields.Find("owner_uid"); owner == nullptr || !owner->IsUint()) {
    return NoRecord("it has no owner");  // no owner must not mean root
  }
  PP_ASSIGN_OR_RETURN(record.parameters.request, DecodeTask(fields.Text("task")));
  PP_ASSIGN_OR_RETURN(record.state, StateIn(fields));
  return record;
}

}  // namespace ptrace_prof
