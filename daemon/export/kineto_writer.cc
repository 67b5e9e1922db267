#include "daemon/export/kineto_writer.h"

#include <fmt/format.h>

#include <algorithm>

namespace ptrace_prof {
namespace {

constexpr int64_t kTrimester = int64_t{7'889'238} * 1'000'000'000;

}  // namespace

bool KinetoWriter::TakeRoom(Nanos when) {
  if (capped_at_ || events_ >= max_events_) {
    capped_at_ = capped_at_.value_or(when);
    return false;
  }
  ++events_;
  return true;
}

Nanos KinetoWriter::SinceBase(Nanos time) {
  if (!base_) {
    const bool traced = recording_.exact || (recording_.request && recording_.request->spec().mode() == v1::MODE_TRACE);
    const Nanos offset = recording_.clock_offset.value_or(Nanos());
    base_ = traced ? Nanos((time + offset).value / kTrimester * kTrimester) - offset : Nanos();
  }
  return std::max(time - *base_, Nanos());
}

void KinetoWriter::WriteMicros(std::string_view member, Nanos time) {
  json_.Name(member);
  const std::string text = fmt::format("{}.{:03}", time.value / 1000, time.value % 1000);
  json_.RawValue(text.data(), text.size(), rapidjson::kNumberType);
}

void KinetoWriter::StartEvent(const KinetoPlace& place, std::string_view phase) {
  json_.StartObject();
  json_.Member("ph", phase);
  json_.Member("pid", place.pid);
  json_.Member("tid", place.tid);
}

void KinetoWriter::Start(const KinetoPlace& place, std::string_view category, std::string_view name, Nanos begin,
                         Nanos end) {
  json_.StartObject();
  json_.Member("ph", "X");
  json_.Member("cat", category);
  json_.Member("name", name);
  json_.Member("pid", place.pid);
  json_.Member("tid", place.tid);
  WriteMicros("ts", SinceBase(begin));
  WriteMicros("dur", end - begin);
}

void KinetoWriter::StartMark(const KinetoPlace& place, std::string_view category, std::string_view name, Nanos when) {
  StartEvent(place, "i");
  json_.Member("cat", category);
  json_.Member("name", name);
  json_.Member("s", "t");
  WriteMicros("ts", SinceBase(when));
}

void KinetoWriter::Flow(const KinetoPlace& place, std::string_view phase, std::string_view name, uint64_t id,
                        Nanos when) {
  StartEvent(place, phase);
  json_.Member("id", static_cast<int64_t>(id));
  WriteMicros("ts", SinceBase(when));
  json_.Member("cat", name);
  json_.Member("name", name);
  if (phase == "f") {
    json_.Member("bp", "e");
  }
  json_.EndObject();
}

void KinetoWriter::Name(const KinetoPlace& place, std::string_view what, std::string_view name) {
  StartEvent(place, "M");
  json_.Member("name", what);
  json_.Name("args");
  json_.StartObject();
  json_.Member(what == "process_labels" ? "labels" : "name", name);
  json_.EndObject();
  json_.EndObject();
}

void KinetoWriter::SortIndex(const KinetoPlace& place, std::string_view what, int64_t index) {
  StartEvent(place, "M");
  json_.Member("name", what);
  json_.Name("args");
  json_.StartObject();
  json_.Member("sort_index", index);
  json_.EndObject();
  json_.EndObject();
}

void KinetoWriter::WriteBase() {
  json_.Member("schemaVersion", int64_t{1});
  if (base_) {
    json_.Member("baseTimeNanoseconds", (*base_ + recording_.clock_offset.value_or(Nanos())).value);
  }
}

}  // namespace ptrace_prof
