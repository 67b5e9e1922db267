#include "client/cli/admin/audit_line.h"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <array>
#include <charconv>
#include <ctime>

#include "attach/base/clean_text.h"
#include "client/cli/process_id.h"
#include "rpc/messages/quantity.h"

namespace ptrace_prof {
namespace {

constexpr double kMostDays = 36'500;
constexpr int64_t kSecond = 1'000'000'000;
constexpr std::array<const char*, 5> kMoments = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M",
                                                 "%Y-%m-%d %H:%M", "%Y-%m-%d"};
constexpr char kAuditColumns[] = "{:<20}  {:<12}  {:>7}  {:<8}  {:>7}  {:<8}  {}";

// A UTC time, with or without a fraction and a Z.
std::optional<Nanos> ParseMoment(const std::string& text) {
  for (const char* form : kMoments) {
    tm parts{};
    const char* rest = ::strptime(text.c_str(), form, &parts);
    if (rest == nullptr) {
      continue;
    }
    int64_t fraction = 0;
    if (*rest == '.') {
      int64_t unit = kSecond;
      for (++rest; *rest >= '0' && *rest <= '9'; ++rest) {
        unit /= 10;
        fraction += (*rest - '0') * unit;
      }
    }
    rest += *rest == 'Z' ? 1 : 0;
    const auto seconds = static_cast<int64_t>(::timegm(&parts));
    if (*rest == '\0' && seconds >= 0 && seconds < INT64_MAX / kSecond) {
      return Nanos(seconds * kSecond + fraction);
    }
  }
  return std::nullopt;
}

std::string MemberText(const rapidjson::Value& object, const char* key) {
  const auto at = object.FindMember(key);
  const bool is_there = at != object.MemberEnd() && at->value.IsString();
  return is_there ? CleanText({at->value.GetString(), at->value.GetStringLength()}) : std::string();
}

std::optional<int64_t> Number(const rapidjson::Value& object, const char* key) {
  const auto at = object.FindMember(key);
  return at != object.MemberEnd() && at->value.IsInt64() ? std::optional(at->value.GetInt64()) : std::nullopt;
}

std::string Rewritten(rapidjson::Document& document) {
  for (rapidjson::SizeType i = 0; i < document.MemberCount(); ++i) {
    if (rapidjson::Value& value = (document.MemberBegin() + i)->value; value.IsString()) {
      const std::string clean = CleanText({value.GetString(), value.GetStringLength()});
      value.SetString(clean.data(), static_cast<rapidjson::SizeType>(clean.size()), document.GetAllocator());
    }
  }
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer(buffer);
  document.Accept(writer);
  return CleanText({buffer.GetString(), buffer.GetSize()});
}

}  // namespace

std::optional<AuditRecord> ParseAuditLine(std::string_view line) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(line.data(), line.size());
  if (document.HasParseError() || !document.IsObject()) {
    return std::nullopt;
  }
  const auto uid = Number(document, "uid");
  const auto pid = Number(document, "pid");
  AuditRecord record{.time_text = MemberText(document, "time")};
  const auto time = ParseMoment(record.time_text);
  if (!uid || !pid || !time || *uid < 0 || *uid > UINT32_MAX || *pid < 0 || *pid > INT32_MAX) {
    return std::nullopt;
  }
  record.time = *time;
  record.uid = Uid(static_cast<uint32_t>(*uid));
  record.caller = Pid(static_cast<int32_t>(*pid));
  record.target = Pid(static_cast<int32_t>(Number(document, "target").value_or(0)));
  if (const auto owner = Number(document, "target_uid"); owner.has_value()) {
    record.target_text = fmt::format("{} of user {}", MemberText(document, "target_command"), *owner);
  }
  record.what = MemberText(document, "what");
  record.outcome = MemberText(document, "outcome");
  record.reason = MemberText(document, "reason");
  record.message = MemberText(document, "message");
  record.rule = MemberText(document, "rule");
  record.capture = MemberText(document, "capture");
  record.owner = Uid(static_cast<uint32_t>(Number(document, "owner").value_or(0)));
  record.json = Rewritten(document);
  return record;
}

bool Matches(const AuditRecord& record, const AuditFilter& filter) {
  return (!filter.uid || record.uid == *filter.uid) &&
         (!filter.pid || record.caller == *filter.pid || record.target == *filter.pid) && record.time >= filter.since &&
         (filter.outcome.empty() || record.outcome == filter.outcome);
}

Result<Nanos> ParseSince(std::string_view text, Nanos now) {
  if (const auto moment = ParseMoment(std::string(text)); moment.has_value()) {
    return *moment;
  }
  double days = 0;
  if (const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), days);
      error == std::errc() && days >= 0 && days < kMostDays &&
      std::string_view(end, text.data() + text.size() - end) == "d") {
    return now - Nanos::FromSeconds(days * 24 * 3600);
  }
  const auto before = ParseDuration(text);
  if (before.has_error()) {
    return Error{Code::kInvalidArgument, fmt::format("--since: '{}' is not a time", CleanText(text)),
                 "give an age (90s, 30m, 2h, 3d) or a time in UTC (2026-11-21, 2026-11-21T22:10)"};
  }
  return now - before.value();
}

std::string AuditTitles() {
  return fmt::format(kAuditColumns, "TIME (UTC)", "USER", "PID", "WHAT", "TARGET", "OUTCOME", "WHY") + "\n";
}

std::string AuditTableLine(const AuditRecord& record, const std::string& user) {
  const std::string target = record.target.value == 0 ? "-" : std::to_string(record.target.value);
  std::string why = record.reason;
  why += record.message.empty() ? "" : (why.empty() ? "" : ": ") + record.message;
  why += record.rule.empty() ? "" : fmt::format("{}(rule {})", why.empty() ? "" : " ", record.rule);
  why += record.target_text.empty() ? "" : fmt::format("{}({})", why.empty() ? "" : " ", record.target_text);
  why += record.capture.empty() ? "" : fmt::format("capture {} of user {}", record.capture, record.owner.value);
  std::string line = fmt::format(kAuditColumns, record.time_text.substr(0, 19) + "Z", CleanText(user),
                                 record.caller.value, record.what, target, record.outcome, why);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

}  // namespace ptrace_prof
