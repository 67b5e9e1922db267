#include "daemon/collector/torch/torch_decoder.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "attach/base/clean_text.h"
#include "daemon/collector/torch/torch_inputs.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostOpen = 4096;  // of a thread
constexpr size_t kMostStrayEnds = 64;
constexpr size_t kMostWaiting = 16384;  // for the layout
constexpr size_t kMostNames = 1 << 16;
constexpr size_t kMostInputs = 1 << 14;

// The words of a payload from that byte on.
void TakeInputs(std::span<const pp_unit> payload, size_t from, std::vector<uint64_t>& to) {
  const size_t size = payload.size() * sizeof(pp_unit);
  if (from < size) {
    to.resize((size - from) / sizeof(uint64_t));
    std::memcpy(to.data(), reinterpret_cast<const uint8_t*>(payload.data()) + from, to.size() * sizeof(uint64_t));
  }
}

}  // namespace

void TorchDecoder::Feed(size_t index, Tid tid, uint64_t thread, std::span<const pp_record> records,
                        const TickMap& ticks, Nanos now) {
  Ring& ring = rings_[index];
  if (ring.tid != tid || ring.thread != thread) {
    CloseAll(ring, ring.last, OperatorEnd::kLost);
    ring = {};
    ring.tid = tid;
    ring.thread = thread;
  }
  for (size_t at = 0; at < records.size();) {
    if (ring.record.is_open()) {
      at += ring.record.Take(records.subspan(at));
    } else {
      const pp_record& record = records[at++];
      const Nanos when = std::clamp(ticks.ToNanos(PP_WHEN(record.when_tag)), ring.last, std::max(now, ring.last));
      ring.last = when;
      switch (PP_TAG(record.when_tag)) {
        case PP_TAG_EXTENDED:
          if (!ring.record.Begin(record)) {
            ++counts_.strange;
            continue;
          }
          at += ring.record.Take(records.subspan(at));
          break;
        case PP_TAG_LOST:
          counts_.lost += record.value;
          ring.has_gap = true;
          CloseAll(ring, when, OperatorEnd::kLost);
          continue;
        case PP_TAG_LOST_END: continue;
        default: ++counts_.strange; continue;
      }
    }
    if (!ring.record.is_open()) {
      Take(ring, ring.last);
    }
  }
  LookForRow(false);
}

// A whole record has arrived.
void TorchDecoder::Take(Ring& ring, Nanos when) {
  Open open;
  open.key = ring.record.word();
  open.one.begin = open.one.end = when;
  open.one.thread = static_cast<uint32_t>(ring.thread);
  bool makes_sense = false;
  switch (ring.record.kind()) {
    case PP_EXTENDED_OP: makes_sense = TakeOperator(ring, std::move(open)); break;
    case PP_EXTENDED_OP_RAW: makes_sense = TakeRaw(ring, std::move(open)); break;
    case PP_EXTENDED_OP_END:
      End(ring, open.key, when);
      makes_sense = true;
      break;
    case PP_EXTENDED_ALLOCATED:
    case PP_EXTENDED_FREED:
    case PP_EXTENDED_MEMORY: makes_sense = TakeMemory(ring, when); break;
    default: break;
  }
  counts_.strange += makes_sense ? 0 : 1;
}

// These return false if the record makes no sense.
bool TorchDecoder::TakeOperator(Ring& ring, Open open) {
  const std::span<const pp_unit> payload = ring.record.payload();
  pp_torch_op op;
  if (payload.size() * sizeof(pp_unit) < sizeof op) {
    return false;
  }
  std::memcpy(&op, payload.data(), sizeof op);
  const size_t room = payload.size() * sizeof(pp_unit) - sizeof op;
  if (op.name_bytes > room) {
    return false;
  }
  TakeInputs(payload, sizeof op + (op.name_bytes + sizeof(pp_unit) - 1) / sizeof(pp_unit) * sizeof(pp_unit),
             open.inputs);
  LearnFrom(ring, open);
  open.range = op.name_bytes == 0
                   ? std::string()
                   : CleanText({reinterpret_cast<const char*>(payload.data()) + sizeof op, op.name_bytes});
  if (op.function != 0) {
    open.one.name = NameOf(op.function).name;
    open.one.overload = NameOf(op.function).overload;
  }
  open.one.handle = op.handle;
  open.one.sequence = std::max<int64_t>(op.sequence, -1);
  open.one.forward_thread = op.forward_thread;
  open.one.scope = op.scope < kOperatorScopes ? static_cast<OperatorScope>(op.scope) : OperatorScope::kFunction;
  open.one.is_async = op.is_async == 1;
  Begin(ring, std::move(open));
  return true;
}

bool TorchDecoder::TakeRaw(Ring& ring, Open open) {
  const std::span<const pp_unit> payload = ring.record.payload();
  if (payload.size() * sizeof(pp_unit) < sizeof(pp_torch_raw)) {
    return false;
  }
  open.raw = std::make_unique<pp_torch_raw>();
  std::memcpy(open.raw.get(), payload.data(), sizeof(pp_torch_raw));
  TakeInputs(payload, sizeof(pp_torch_raw), open.inputs);
  if (row_ == nullptr) {
    choice_.Try(ring.thread, *open.raw);
    if (choice_.IsHopeless() || ++waiting_ > kMostWaiting) {
      ++counts_.lost;
      return true;
    }
  } else if (!Describe(ring, open)) {
    return true;
  }
  Begin(ring, std::move(open));
  return true;
}

bool TorchDecoder::TakeMemory(Ring& ring, Nanos when) {
  const std::span<const pp_unit> payload = ring.record.payload();
  const uint32_t kind = ring.record.kind();
  pp_torch_reported said{};
  const size_t size = kind == PP_EXTENDED_MEMORY ? sizeof said : sizeof said.block;
  if (payload.size() * sizeof(pp_unit) < size) {
    return false;
  }
  std::memcpy(&said, payload.data(), size);
  Allocation one{.when = when, .address = said.block.address, .bytes = said.block.bytes};
  if (kind == PP_EXTENDED_MEMORY) {
    one.device = {PP_TORCH_DEVICE_TYPE(ring.record.word()), PP_TORCH_DEVICE_INDEX(ring.record.word())};
    one.allocated = said.allocated;
    one.reserved = said.reserved;
    if (one.bytes > 0) {
      blocks_.Allocated(one.address, one.bytes, one.device);
    } else {
      (void)blocks_.Freed(one.address);
    }
    if (one.device.is_cpu()) {  // mapped files: they do not say what is allocated in all
      one.allocated = blocks_.cpu_bytes();
    }
  } else if (kind == PP_EXTENDED_ALLOCATED) {
    if (one.bytes <= 0) {
      return false;
    }
    blocks_.Allocated(one.address, one.bytes, {});
    one.allocated = blocks_.cpu_bytes();
  } else if (const std::optional<TorchBlock> block = blocks_.Freed(one.address); block && block->was_there) {
    one.bytes = -block->bytes;
    one.was_there = true;
    sinks_.allocations(ring.tid, one);
    return true;
  } else if (block) {
    one.bytes = -block->bytes;
    one.allocated = blocks_.cpu_bytes();
  } else {
    ++counts_.unknown_blocks;
    return true;
  }
  const auto caller = std::find_if(ring.open.rbegin(), ring.open.rend(),
                                   [](const Open& open) { return !open.has_ended && !open.one.is_async; });
  if (caller != ring.open.rend()) {
    one.operator_handle = caller->one.handle;
    (one.device.is_cpu() ? caller->one.cpu_memory : caller->one.device_memory) += one.bytes;
  }
  ++counts_.allocations;
  sinks_.allocations(ring.tid, one);
  return true;
}

void TorchDecoder::Begin(Ring& ring, Open open) {
  if (ring.open.size() >= (row_ != nullptr ? kMostOpen : kMostWaiting)) {
    ++counts_.lost;
    return;
  }
  EndIfStray(open);
  const bool has_ended = open.has_ended;
  ring.open.push_back(std::move(open));
  if (has_ended) {
    WriteEnded(ring);
  }
}

// Rings are read one after the other, so an end on one may come before the begin on another. The object of an earlier
// operator at the same address had ended before this one began.
void TorchDecoder::EndIfStray(Open& open) {
  const auto end = std::ranges::find_if(
      stray_ends_, [&open](const StrayEnd& stray) { return stray.key == open.key && stray.when >= open.one.begin; });
  if (end != stray_ends_.end()) {
    open.has_ended = open.one.is_async = true;
    open.one.end = end->when;
    stray_ends_.erase(end);
    --counts_.unmatched;
  }
}

// The operator that ended on a ring which does not know it, and the ring on which it began. After a gap it may be one
// whose begin was lost.
std::pair<TorchDecoder::Ring*, TorchDecoder::Open*> TorchDecoder::FindElsewhere(uint32_t key, Nanos when,
                                                                                const Ring& ended_on) {
  const auto is_it = [&](const Open& open) {
    return open.key == key && !open.has_ended && open.one.begin <= when &&
           (open.one.is_async || open.raw != nullptr || !ended_on.has_gap);
  };
  for (auto& [index, ring] : rings_) {
    if (const auto found = std::find_if(ring.open.rbegin(), ring.open.rend(), is_it); found != ring.open.rend()) {
      return {&ring, &*found};
    }
  }
  return {nullptr, nullptr};
}

void TorchDecoder::End(Ring& ring, uint32_t key, Nanos when) {
  Ring* where = &ring;
  const auto own = std::find_if(ring.open.rbegin(), ring.open.rend(),
                                [key](const Open& open) { return open.key == key && !open.has_ended; });
  Open* found = own == ring.open.rend() ? nullptr : &*own;
  if (found == nullptr) {
    std::tie(where, found) = FindElsewhere(key, when, ring);
    if (found == nullptr) {
      KeepStray(ring, {key, when});
      return;
    }
    found->one.is_async = true;
  }
  found->has_ended = true;
  found->one.end = std::max(when, found->one.begin);
  WriteEnded(*where);
}

void TorchDecoder::KeepStray(const Ring& ring, const StrayEnd& end) {
  ++counts_.unmatched;
  if (ring.has_gap) {
    return;
  }
  stray_ends_.push_back(end);
  if (stray_ends_.size() > kMostStrayEnds) {
    stray_ends_.pop_front();
  }
}

// In the order of their ends, so that inner ones come first. Without a row they wait.
void TorchDecoder::WriteEnded(Ring& ring) {
  if (row_ == nullptr) {
    return;
  }
  ended_.clear();
  for (const Open& open : ring.open) {
    if (open.has_ended) {
      ended_.push_back(&open);
    }
  }
  std::stable_sort(ended_.begin(), ended_.end(), [](const Open* a, const Open* b) {
    return std::pair(a->one.end, b->one.begin) < std::pair(b->one.end, a->one.begin);
  });
  for (const Open* open : ended_) {
    Write(ring, *open);
  }
  std::erase_if(ring.open, [](const Open& open) { return open.has_ended; });
}

// Fills in what a copied object says.
bool TorchDecoder::Describe(Ring& ring, Open& open) {
  const std::optional<RawOperator> read = ReadRaw(*open.raw, row_->fields, memory_);
  if (open.raw->inputs_at != row_->fields.inputs) {
    open.inputs.clear();  // something else was taken for them
  }
  open.raw.reset();
  LearnFrom(ring, open);
  if (!read.has_value()) {
    ++counts_.strange;
    return false;
  }
  open.one.handle = read->handle;
  open.one.sequence = read->sequence;
  open.one.forward_thread = read->forward_thread;
  open.one.scope = static_cast<OperatorScope>(read->scope);
  open.one.is_async = open.one.is_async || read->is_async;  // it may have ended on another thread already
  if (read->function != 0) {
    const SchemaName& name = Remember(read->function, {read->name, read->overload});
    open.one.name = name.name;
    open.one.overload = name.overload;
  } else {
    open.range = CleanText(read->name);
  }
  return true;
}

void TorchDecoder::LookForRow(bool is_last) {
  if (row_ != nullptr) {
    return;
  }
  row_ = choice_.Chosen(is_last);
  if (row_ == nullptr) {
    return;
  }
  for (auto& entry : rings_) {
    Ring& ring = entry.second;
    std::erase_if(ring.open, [&](Open& open) { return open.raw != nullptr && !Describe(ring, open); });
    WriteEnded(ring);
  }
}

const SchemaName& TorchDecoder::NameOf(uint64_t schema) {
  static const SchemaName none;
  if (const auto known = names_.find(schema); known != names_.end()) {
    return known->second;
  }
  if (row_ == nullptr || names_.size() >= kMostNames) {
    return none;
  }
  return Remember(schema, ReadSchemaName(RemoteAddr(schema), row_->fields, memory_).value_or(none));
}

const SchemaName& TorchDecoder::Remember(uint64_t schema, const SchemaName& name) {
  return names_.try_emplace(schema, SchemaName{CleanText(name.name), CleanText(name.overload)}).first->second;
}

void TorchDecoder::Meet(Tid tid, const TensorStorage& storage, Nanos when) {
  if (sinks_.allocations && blocks_.Met(storage.address, storage.bytes, storage.device)) {
    sinks_.allocations(tid, {.when = when,
                             .address = storage.address,
                             .bytes = storage.bytes,
                             .device = storage.device,
                             .was_there = true});
  }
}

void TorchDecoder::LearnFrom(Ring& ring, Open& open) {
  for (const TensorStorage& storage : TakeStorages(open.inputs)) {
    open.storages.push_back(storage.address);
    Meet(ring.tid, storage, open.one.begin);
  }
  if (const uint32_t tag = list_tag_ == 0 ? ListTagIn(open.inputs) : 0; tag != 0) {
    list_tag_ = tag;
    inputs_.clear();  // some numbers are booleans
  }
}

const OperatorInputs* TorchDecoder::InputsOf(const std::vector<uint64_t>& words) {
  if (inputs_.size() >= kMostInputs) {
    inputs_.clear();
  }
  key_.assign(reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint64_t));
  auto known = inputs_.find(key_);
  if (known == inputs_.end()) {
    known = inputs_.emplace(key_, DescribeInputs(words, list_tag_)).first;
    known->second.number = ++last_inputs_;
  }
  return &known->second;
}

void TorchDecoder::Write(const Ring& ring, const Open& open) {
  Operator one = open.one;
  if (one.name.empty()) {
    one.name = open.range;
  }
  one.inputs = open.inputs.empty() ? nullptr : InputsOf(open.inputs);
  one.storages = open.storages;
  counts_.without_name += one.name.empty() ? 1 : 0;
  ++counts_.operators;
  sinks_.operators(ring.tid, one);
}

void TorchDecoder::CloseAll(Ring& ring, Nanos when, OperatorEnd ending) {
  for (Open& open : ring.open) {
    if (!open.has_ended) {
      open.has_ended = true;
      open.one.end = std::max(when, open.one.begin);
      open.one.ending = ending;
    }
  }
  WriteEnded(ring);
}

void TorchDecoder::EndRing(size_t index, Nanos when, OperatorEnd ending) {
  if (const auto ring = rings_.find(index); ring != rings_.end()) {
    CloseAll(ring->second, when, ending);
  }
}

void TorchDecoder::Finish(Nanos when) {
  LookForRow(true);
  for (auto& [index, ring] : rings_) {
    CloseAll(ring, when, OperatorEnd::kOpen);
    counts_.lost += ring.open.size();  // of an unknown layout
    ring.open.clear();
  }
}

}  // namespace ptrace_prof
