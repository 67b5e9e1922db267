#include "daemon/trace/read/counter_track.h"

#include <array>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

constexpr size_t kMaxCounterName = 1024;

// As Perfetto's page shows them, by CounterUnit.
constexpr std::array<std::string_view, kCounterUnitCount> kUnitNames = {"", "%", "MHz", "", "mW", "°C"};

uint64_t Mix(uint64_t hash, std::string_view text) {
  for (const char c : text) {
    hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  }
  return hash;
}

CounterInfo DecodeCounter(std::string_view message) {
  CounterInfo info;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    switch (field.number) {
      case trace::Counter::kGroupFieldNumber: info.group = field.bytes.substr(0, kMaxCounterName); break;
      case trace::Counter::kNameFieldNumber: info.name = field.bytes.substr(0, kMaxCounterName); break;
      case trace::Counter::kUnitFieldNumber:
        info.unit = field.value < kCounterUnitCount ? static_cast<CounterUnit>(field.value) : CounterUnit::kNone;
        break;
      case trace::Counter::kMostFieldNumber: info.most = field.AsSigned(); break;
      default: break;
    }
  }
  return info;
}

}  // namespace

// Unique per trace: in concatenated traces the values would not be in order.
uint64_t CounterGroupUuid(const TraceOrigin& origin, std::string_view group) {
  return StateTrackUuid(origin, Mix(Mix(0xcbf29ce484222325, origin.boot_id), group));
}

uint64_t CounterTrackUuid(uint64_t group_uuid, std::string_view name) { return Mix(group_uuid, name); }

void EncodeGroupDescriptor(uint64_t uuid, std::string_view name, WireEncoder& out) {
  out.Varint(pf::TrackDescriptor::kUuidFieldNumber, uuid);
  out.Bytes(pf::TrackDescriptor::kNameFieldNumber, name);
}

void EncodeCounterDescriptor(uint64_t uuid, uint64_t group_uuid, const CounterInfo& info, WireEncoder& out) {
  out.Varint(pf::TrackDescriptor::kUuidFieldNumber, uuid);
  out.Varint(pf::TrackDescriptor::kParentUuidFieldNumber, group_uuid);
  out.Bytes(pf::TrackDescriptor::kNameFieldNumber, info.name);
  out.Message(pf::TrackDescriptor::kCounterFieldNumber, [&] {
    if (info.unit == CounterUnit::kBytes) {
      out.Varint(pf::CounterDescriptor::kUnitFieldNumber, pf::CounterDescriptor::UNIT_SIZE_BYTES);
    }
    out.StringIfSet(pf::CounterDescriptor::kUnitNameFieldNumber, kUnitNames[static_cast<size_t>(info.unit)]);
  });
}

void EncodeCounter(const CounterInfo& info, WireEncoder& out) {
  out.Bytes(trace::Counter::kGroupFieldNumber, info.group);
  out.Bytes(trace::Counter::kNameFieldNumber, info.name);
  out.VarintIfSet(trace::Counter::kUnitFieldNumber, static_cast<uint64_t>(info.unit));
  out.VarintIfSet(trace::Counter::kMostFieldNumber, static_cast<uint64_t>(info.most));
}

void EncodeCount(uint64_t uuid, int64_t value, WireEncoder& out) {
  out.Varint(pf::TrackEvent::kTypeFieldNumber, pf::TrackEvent::TYPE_COUNTER);
  out.Varint(pf::TrackEvent::kTrackUuidFieldNumber, uuid);
  out.SignedVarint(pf::TrackEvent::kCounterValueFieldNumber, value);
}

void CounterTracks::OnDescriptor(uint64_t uuid, std::string_view counter, ReaderVocabulary& vocabulary,
                                 TraceVisitor& visitor) {
  CounterInfo info = DecodeCounter(counter);
  const auto known = ids_.find(uuid);
  if (known != ids_.end() && infos_[known->second.value] == info) {
    return;
  }
  if (infos_.size() >= kMost || !vocabulary.Describe(info.group.size() + info.name.size())) {
    vocabulary.Skip();
    return;
  }
  const CounterId id(static_cast<uint32_t>(infos_.size()));
  ids_[uuid] = id;
  infos_.push_back(std::move(info));
  visitor.OnCounter(id, infos_.back());
}

bool CounterTracks::OnEvent(std::string_view event, Nanos when, TraceVisitor& visitor) {
  uint64_t uuid = 0;
  int64_t value = 0;
  WireDecoder decoder(event);
  for (WireField field; decoder.Next(field);) {
    if (field.number == pf::TrackEvent::kTrackUuidFieldNumber) {
      uuid = field.value;
    } else if (field.number == pf::TrackEvent::kCounterValueFieldNumber) {
      value = field.AsSigned();
    }
  }
  const auto known = ids_.find(uuid);
  if (known == ids_.end()) {
    return false;
  }
  visitor.OnCount(known->second, when, value);
  return true;
}

}  // namespace ptrace_prof
