#include "client/cli/captures/captures_text.h"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <vector>

#include "attach/base/clean_text.h"
#include "client/cli/export/export_options.h"
#include "client/cli/json_text.h"
#include "client/cli/record/totals_text.h"
#include "client/cli/user_names.h"

namespace ptrace_prof {
namespace {

constexpr std::array<std::string_view, 7> kStateNames = {"pending",   "armed",  "running",  "draining",
                                                         "succeeded", "failed", "cancelled"};
constexpr int64_t kMinute = 60;
constexpr int64_t kHour = 60 * kMinute;
constexpr int64_t kDay = 24 * kHour;

constexpr size_t kCaptureColumns = 9;
constexpr size_t kUserColumn = 3;
using CaptureRow = std::array<std::string, kCaptureColumns>;
constexpr std::array<std::string_view, kCaptureColumns> kCaptureTitles = {"ID",   "STATE",   "PID",  "USER", "AGE",
                                                                          "TIME", "SAMPLES", "SIZE", "END"};
constexpr std::array<bool, kCaptureColumns> kToTheRight = {false, false, true, false, true, true, true, true, false};

// How long it has recorded so far, or recorded in all.
Nanos Recorded(const RemoteCapture& capture, Nanos now) {
  if (capture.started.value == 0) {
    return {};
  }
  return std::max(Nanos(), (capture.ended.value > 0 ? capture.ended : now) - capture.started);
}

std::string EndText(const RemoteCapture& capture) {
  if (!capture.has_ended()) {
    return "-";
  }
  if (capture.error.has_value()) {
    return CleanText(capture.error->message);
  }
  if (!capture.end_message.empty()) {
    return CleanText(capture.end_message);
  }
  return capture.state == RemoteState::kCancelled ? "cancelled" : "completed";
}

CaptureRow CaptureCells(const RemoteCapture& capture, Nanos now, UserNames& names) {
  return {CleanText(capture.id()),
          std::string(StateName(capture.state)),
          std::to_string(capture.pid.value),
          CleanText(names.Of(capture.owner)),
          ShortTime(std::max(Nanos(), now - capture.created)),
          ShortTime(Recorded(capture, now)),
          Grouped(capture.samples),
          HumanSize(capture.trace_bytes),
          EndText(capture)};
}

enum class Users : uint8_t { kShown, kLeftOut };

std::string CaptureLine(const CaptureRow& row, const std::array<size_t, kCaptureColumns>& widths, Users users) {
  std::string line;
  for (size_t i = 0; i < kCaptureColumns; ++i) {
    if (i == kUserColumn && users == Users::kLeftOut) {
      continue;
    }
    line += i == 0 ? "" : "  ";
    line += kToTheRight[i] ? fmt::format("{:>{}}", row[i], widths[i]) : fmt::format("{:<{}}", row[i], widths[i]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

// Writes seconds, or null for a time that is not set.
template <typename Writer>
void PutTime(Writer& json, const char* key, Nanos time) {
  json.Key(key);
  time.value == 0 ? json.Null() : json.Double(time.seconds());
}

template <typename Writer>
void PutCapture(Writer& json, const RemoteCapture& capture) {
  json.StartObject();
  Put(json, "id", capture.id());
  Put(json, "name", capture.name);
  Put(json, "state", StateName(capture.state));
  Put(json, "mode", !capture.mode ? "" : *capture.mode == v1::MODE_TRACE ? "trace" : "sample");
  Put(json, "sampled_because", capture.sampled_because);
  Put(json, "pid", static_cast<uint64_t>(capture.pid.value));
  Put(json, "owner_uid", capture.owner.value);
  Put(json, "keep", capture.keep);
  PutTime(json, "duration", capture.duration);
  PutTime(json, "created", capture.created);
  PutTime(json, "started", capture.started);
  PutTime(json, "ended", capture.ended);
  Put(json, "trace_bytes", capture.trace_bytes);
  Put(json, "samples", capture.samples);
  Put(json, "truncated", capture.truncated);
  Put(json, "torn", capture.torn);
  Put(json, "lost", capture.lost);
  Put(json, "processes", capture.processes);
  Put(json, "threads", capture.threads);
  Put(json, "end", capture.end_message);
  PutList(json, "notices", capture.notices);
  json.Key("error");
  if (capture.error.has_value()) {
    json.StartObject();
    Put(json, "code", CodeName(capture.error->code));
    Put(json, "reason", ReasonName(ReasonOf(*capture.error)));
    Put(json, "thing", capture.error->thing);
    Put(json, "message", capture.error->message);
    Put(json, "remedy", capture.error->remedy);
    json.EndObject();
  } else {
    json.Null();
  }
  json.EndObject();
}

}  // namespace

std::string_view StateName(RemoteState state) { return kStateNames[static_cast<size_t>(state)]; }

std::string ShortTime(Nanos time) {
  const int64_t seconds = (time.value + 500'000'000) / 1'000'000'000;
  if (seconds >= kDay) {
    return fmt::format("{}d {}h", seconds / kDay, seconds % kDay / kHour);
  }
  if (seconds >= kHour) {
    return fmt::format("{}:{:02}:{:02}", seconds / kHour, seconds % kHour / kMinute, seconds % kMinute);
  }
  return fmt::format("{:02}:{:02}", seconds / kMinute, seconds % kMinute);
}

std::string CapturesTable(std::span<const RemoteCapture> captures, Nanos now, Uid viewer) {
  const bool is_all_theirs =
      std::all_of(captures.begin(), captures.end(), [&](const RemoteCapture& one) { return one.owner == viewer; });
  UserNames names;
  std::vector<CaptureRow> rows(1);
  std::copy(kCaptureTitles.begin(), kCaptureTitles.end(), rows[0].begin());
  for (const RemoteCapture& capture : captures) {
    rows.push_back(CaptureCells(capture, now, names));
  }
  std::array<size_t, kCaptureColumns> widths{};
  for (const CaptureRow& row : rows) {
    for (size_t i = 0; i < kCaptureColumns; ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const CaptureRow& row : rows) {
    text += CaptureLine(row, widths, is_all_theirs ? Users::kLeftOut : Users::kShown);
  }
  return text;
}

std::string CapturesJson(std::span<const RemoteCapture> captures) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> json(buffer);
  json.StartObject();
  Put(json, "schema", std::string_view("ptrace-prof.captures/1"));
  json.Key("captures");
  json.StartArray();
  for (const RemoteCapture& capture : captures) {
    PutCapture(json, capture);
  }
  json.EndArray();
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::string CaptureJsonLine(const RemoteCapture& capture) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  PutCapture(json, capture);
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

std::string EventLine(const RemoteCapture& capture, Nanos now) {
  const std::string end = capture.has_ended() ? fmt::format("  ({})", EndText(capture)) : "";
  return fmt::format("{:<9}  {}  {} samples  {}{}\n", StateName(capture.state), ShortTime(Recorded(capture, now)),
                     Grouped(capture.samples), HumanSize(capture.trace_bytes), end);
}

}  // namespace ptrace_prof
