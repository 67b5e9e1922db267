#include "daemon/server/policy/child_rules.h"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <utility>

namespace ptrace_prof {
namespace {

constexpr char kAllows[] = "allows";
constexpr char kName[] = "name";
constexpr char kOwners[] = "owners";
constexpr char kRules[] = "rules";
constexpr std::pair<const char*, std::vector<NameGlob> PolicyRule::*> kGlobs[] = {
    {"commands", &PolicyRule::commands},
    {"programs", &PolicyRule::programs},
    {"containers", &PolicyRule::containers},
    {"cgroups", &PolicyRule::cgroups},
};

using Writer = rapidjson::Writer<rapidjson::StringBuffer>;

void Put(Writer& json, const std::string& text) {
  json.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

void Put(Writer& json, const PolicyRule& rule) {
  json.StartObject();
  json.Key(kName);
  Put(json, rule.name);
  json.Key(kAllows);
  json.Bool(rule.allows);
  json.Key(kOwners);
  json.StartArray();
  for (const Uid owner : rule.owners) {
    json.Uint(owner.value);
  }
  json.EndArray();
  for (const auto& [key, globs] : kGlobs) {
    json.Key(key);
    json.StartArray();
    for (const NameGlob& glob : rule.*globs) {
      Put(json, glob.text());
    }
    json.EndArray();
  }
  json.EndObject();
}

std::string Encode(const Policy& narrowed) {
  rapidjson::StringBuffer text;
  Writer json(text);
  json.StartObject();
  json.Key(kAllows);
  json.Bool(narrowed.allows_by_default);
  json.Key(kRules);
  json.StartArray();
  for (const PolicyRule& rule : narrowed.rules) {
    Put(json, rule);
  }
  json.EndArray();
  json.EndObject();
  return {text.GetString(), text.GetSize()};
}

Error NoRules() { return Error{Code::kInvalidArgument, "not valid rules for child processes", ""}; }

// Null: no member of that name and type.
const rapidjson::Value* Find(const rapidjson::Value& object, const char* key, bool (rapidjson::Value::*is)() const) {
  if (!object.IsObject()) {
    return nullptr;
  }
  const auto at = object.FindMember(key);
  return at != object.MemberEnd() && (at->value.*is)() ? &at->value : nullptr;
}

Result<PolicyRule> RuleOf(const rapidjson::Value& object) {
  const auto* name = Find(object, kName, &rapidjson::Value::IsString);
  const auto* allows = Find(object, kAllows, &rapidjson::Value::IsBool);
  const auto* owners = Find(object, kOwners, &rapidjson::Value::IsArray);
  if (name == nullptr || allows == nullptr || owners == nullptr) {
    return NoRules();
  }
  PolicyRule rule;
  rule.name.assign(name->GetString(), name->GetStringLength());
  rule.allows = allows->GetBool();
  for (const auto& owner : owners->GetArray()) {
    if (!owner.IsUint()) {
      return NoRules();
    }
    rule.owners.push_back(Uid(owner.GetUint()));
  }
  for (const auto& [key, globs] : kGlobs) {
    const auto* texts = Find(object, key, &rapidjson::Value::IsArray);
    if (texts == nullptr) {
      return NoRules();
    }
    for (const auto& text : texts->GetArray()) {
      if (!text.IsString()) {
        return NoRules();
      }
      PP_ASSIGN_OR_RETURN(auto glob, NameGlob::Compile({text.GetString(), text.GetStringLength()}));
      (rule.*globs).push_back(std::move(glob));
    }
  }
  return rule;
}

}  // namespace

std::string EncodeChildRules(const Policy& policy, const PolicyCaller& caller) {
  const Policy narrowed = policy.About(caller);
  if (!narrowed.denies_anything()) {
    return "";
  }
  std::string text = Encode(narrowed);
  Policy nobody;
  nobody.allows_by_default = false;
  return text.size() <= kMaxChildRules ? text : Encode(nobody);
}

Result<Policy> DecodeChildRules(std::string_view text) {
  rapidjson::Document document;
  // The iterative parser cannot exhaust the stack, however deep the text nests.
  document.Parse<rapidjson::kParseIterativeFlag>(text.data(), text.size());
  if (document.HasParseError()) {
    return NoRules();
  }
  const auto* allows = Find(document, kAllows, &rapidjson::Value::IsBool);
  const auto* rules = Find(document, kRules, &rapidjson::Value::IsArray);
  if (allows == nullptr || rules == nullptr) {
    return NoRules();
  }
  Policy policy;
  policy.allows_by_default = allows->GetBool();
  for (const auto& rule : rules->GetArray()) {
    PP_ASSIGN_OR_RETURN(auto decoded, RuleOf(rule));
    policy.rules.push_back(std::move(decoded));
  }
  return policy;
}

}  // namespace ptrace_prof
