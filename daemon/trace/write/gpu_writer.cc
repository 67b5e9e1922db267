#include "daemon/trace/write/gpu_writer.h"

#include <fmt/format.h>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/gpu_codec.h"
#include "daemon/trace/id_index.h"
#include "daemon/trace/perfetto.pb.h"

namespace ptrace_prof {
namespace {

namespace pf = perfetto::protos;

// Combined with the numbers to make the uuids of the tracks.
constexpr uint64_t kDeviceSalt = 0x67707544;
constexpr uint64_t kQueueSalt = 0x67707551;
constexpr uint64_t kWaitsSalt = 0x67707557;
constexpr uint64_t kCallsSalt = 0x67707543;
constexpr uint64_t kAnnotationsSalt = 0x67707541;
constexpr uint64_t kOperatorsSalt = 0x6770754f;

uint64_t Uuid(const TraceOrigin& origin, uint64_t parent, uint64_t salt, const GpuQueue& queue) {
  const uint64_t what = MixBits(salt ^ queue.context) ^ (uint64_t{queue.stream} << 32 | queue.device);
  return StateTrackUuid(origin, parent ^ MixBits(what ^ (queue.is_overhead ? 1 : 0)));
}

std::string NameOf(const GpuQueue& queue) {
  if (queue.is_overhead) {
    return "overhead of GPU tracing";
  }
  if (queue.stream == kNoGpuNumber) {
    return queue.context == kNoGpuNumber ? std::string("all contexts") : fmt::format("context {}", queue.context);
  }
  return fmt::format("stream {}{} (context {})", queue.stream, queue.is_default ? " default" : "", queue.context);
}

}  // namespace

template <typename Visit>
void GpuWriter::ForEach(Visit visit) {
  for (Queue& queue : queues_) {
    for (GpuSequence* sequence : {queue.work.get(), queue.waits.get()}) {
      if (sequence != nullptr) {
        visit(*sequence);
      }
    }
  }
  for (Threads* threads : {&calls_, &annotations_, &operators_}) {
    for (auto& [thread, sequence] : *threads) {
      visit(*sequence);
    }
  }
}

void GpuWriter::AddDevice(const GpuDevice& device) { device_names_[{device.pid.value, device.id}] = device.name; }

GpuQueueHandle GpuWriter::AddQueue(const GpuQueue& queue, uint64_t process_uuid) {
  Queue added;
  added.queue = queue;
  added.process_uuid = process_uuid;
  added.uuid = Uuid(origin_, process_uuid, kQueueSalt, queue);
  queues_.push_back(std::move(added));
  return GpuQueueHandle(static_cast<uint32_t>(queues_.size()) - 1);
}

// Returns the parent of the queue's track.
uint64_t GpuWriter::DescribeDevice(const Queue& queue, WireEncoder& out) {
  if (queue.queue.device == kNoGpuNumber) {
    return queue.process_uuid;
  }
  const GpuQueue device{.pid = queue.queue.pid, .device = queue.queue.device};
  const uint64_t uuid = Uuid(origin_, queue.process_uuid, kDeviceSalt, device);
  const auto name = device_names_.find({queue.queue.pid.value, queue.queue.device});
  out.Message(pf::Trace::kPacketFieldNumber, [&] {
    out.Message(pf::TracePacket::kTrackDescriptorFieldNumber, [&] {
      out.Varint(pf::TrackDescriptor::kUuidFieldNumber, uuid);
      out.Varint(pf::TrackDescriptor::kParentUuidFieldNumber, queue.process_uuid);
      out.Bytes(pf::TrackDescriptor::kNameFieldNumber,
                name == device_names_.end() || name->second.empty()
                    ? fmt::format("GPU {}", queue.queue.device)
                    : fmt::format("GPU {} ({})", queue.queue.device, name->second.substr(0, 256)));
    });
    out.Varint(pf::TracePacket::kTrustedPacketSequenceIdFieldNumber, trace_sequence_);
  });
  return uuid;
}

std::unique_ptr<GpuSequence> GpuWriter::OpenQueue(const Queue& queue, bool is_waits, WireEncoder& out) {
  GpuSequencePlace place;
  place.process_uuid = queue.process_uuid;
  place.uuid = is_waits ? Uuid(origin_, queue.process_uuid, kWaitsSalt, queue.queue) : queue.uuid;
  place.parent_uuid = DescribeDevice(queue, out);
  place.name = is_waits ? NameOf(queue.queue) + " waits" : NameOf(queue.queue);
  place.sequence_id = new_sequence_();
  WireEncoder about;
  about.Varint(trace::GpuTrack::kQueueUuidFieldNumber, queue.uuid);
  EncodeGpuQueue(queue.queue, about);
  place.about = about.buffer();
  return std::make_unique<GpuSequence>(std::move(place), origin_, stacks_, names_);
}

void GpuWriter::AddOperation(GpuQueueHandle handle, const GpuOperation& operation, WireEncoder& out) {
  if (handle.value >= queues_.size()) {
    return;
  }
  Queue& queue = queues_[handle.value];
  const bool is_wait = operation.kind == GpuOperationKind::kSync;
  std::unique_ptr<GpuSequence>& sequence = is_wait ? queue.waits : queue.work;
  if (sequence == nullptr) {
    sequence = OpenQueue(queue, is_wait, out);
  }
  sequence->AddOperation(operation, out);
}

GpuSequence& GpuWriter::Of(const GpuThread& thread, const ThreadTrack& track, Threads& threads) {
  std::unique_ptr<GpuSequence>& sequence = threads[thread.number];
  if (sequence == nullptr) {
    GpuSequencePlace place;
    place.process_uuid = thread.process_uuid;
    place.uuid = Uuid(origin_, thread.uuid, track.salt, {});
    place.parent_uuid = thread.uuid;
    place.name = track.name;
    place.sequence_id = new_sequence_();
    WireEncoder about;
    about.Varint(trace::GpuTrack::kThreadUuidFieldNumber, thread.uuid);
    place.about = about.buffer();
    sequence = std::make_unique<GpuSequence>(std::move(place), origin_, stacks_, names_);
  }
  return *sequence;
}

void GpuWriter::AddCall(const GpuThread& thread, const GpuApiCall& call, WireEncoder& out) {
  Of(thread, {kCallsSalt, "GPU calls"}, calls_).AddCall(call, out);
}

void GpuWriter::AddAnnotation(const GpuThread& thread, const GpuAnnotation& annotation, WireEncoder& out) {
  Of(thread, {kAnnotationsSalt, "NVTX"}, annotations_).AddAnnotation(annotation, out);
}

void GpuWriter::AddOperator(const GpuThread& thread, const Operator& one, WireEncoder& out) {
  Of(thread, {kOperatorsSalt, "PyTorch"}, operators_).AddOperator(one, out);
}

void GpuWriter::AddAllocation(const GpuThread& thread, const Allocation& one, WireEncoder& out) {
  Of(thread, {kOperatorsSalt, "PyTorch"}, operators_).AddAllocation(one, out);
}

void GpuWriter::Reset() {
  ForEach([](GpuSequence& sequence) { sequence.Reset(); });
}

void GpuWriter::ResetLargerThan(size_t entries) {
  ForEach([entries](GpuSequence& sequence) {
    if (sequence.entries() > entries) {
      sequence.Reset();
    }
  });
}

size_t GpuWriter::entries() {
  size_t entries = 0;
  ForEach([&](const GpuSequence& sequence) { entries += sequence.entries(); });
  return entries;
}

}  // namespace ptrace_prof
