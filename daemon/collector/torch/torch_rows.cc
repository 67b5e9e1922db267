#include "daemon/collector/torch/torch_rows.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace ptrace_prof {
namespace {

constexpr uint64_t kStringBytes = 32;  // a std::string of the C++ ABI of GCC 5
constexpr size_t kEnoughObjects = 16;
constexpr size_t kEnoughSchemas = 4;
constexpr size_t kLeastObjects = 4;  // at the end
constexpr uint64_t kMostThreads = 1 << 24;
constexpr uint64_t kMostHandles = uint64_t{1} << 48;
constexpr size_t kLongestSchemaName = 512;
constexpr uint32_t kScopes = 10;

constexpr pp_torch_row Row(uint32_t flags, uint32_t index, uint32_t sequence, uint32_t forward, uint32_t handle) {
  return {.is_set = 1,
          .flags = flags,
          .function_index = index,
          .sequence = sequence,
          .inputs = sequence + 8,
          .forward_thread = forward,
          .handle = handle,
          .is_async = handle + 8};
}

// Offsets of torch 1.13.0 (Debian 12), 2.4.1 (wheel) and 2.6 to 2.15, measured; the other one follows from them.
constexpr TorchRow kRows[] = {
    {"1.13", Row(0, 192, 200, 248, 256)},
    {"1.13 (old C++ ABI)", Row(PP_TORCH_ROW_OLD_STRINGS, 168, 176, 224, 232)},
    {"2.0 to 2.5 (old C++ ABI)", Row(PP_TORCH_ROW_OLD_STRINGS, 168, 176, 280, 288)},
    {"2.0 and later", Row(0, 192, 200, 304, 312)},
};

// Measured with torch 1.13.0, 2.4.1 and 2.15.
constexpr pp_torch_tensor kTensors[] = {{24, 72, 168, 176, 24}, {16, 64, 160, 168, 16}, {16, 56, 152, 160, 16}};
static_assert(std::size(kTensors) <= PP_TORCH_TENSOR_ROWS);

template <typename T>
T At(const pp_torch_raw& raw, size_t offset) {
  T value{};
  if (offset + sizeof value <= sizeof raw.object) {
    std::memcpy(&value, raw.object + offset, sizeof value);
  }
  return value;
}

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) >= ' '; });
}

// From the bytes around the address in fn_.
std::optional<std::string> RangeName(const pp_torch_raw& raw, const pp_torch_row& row) {
  uint64_t length = 0;
  if ((row.flags & PP_TORCH_ROW_OLD_STRINGS) != 0) {
    std::memcpy(&length, raw.name, sizeof length);
  } else {
    length = At<uint64_t>(raw, PP_TORCH_AT_FUNCTION + sizeof(uint64_t));
  }
  if (raw.has_name == 0 || length > kLongestSchemaName) {
    return std::nullopt;
  }
  const size_t copied = std::min<size_t>(length, sizeof raw.name - PP_TORCH_BEFORE_NAME);
  std::string name(reinterpret_cast<const char*>(raw.name) + PP_TORCH_BEFORE_NAME, copied);
  return IsName(name) ? std::optional(std::move(name)) : std::nullopt;
}

}  // namespace

std::span<const TorchRow> TorchRows() { return kRows; }
std::span<const pp_torch_tensor> TensorRows() { return kTensors; }
uint32_t ForwardThreadSince2(bool has_old_strings) { return kRows[has_old_strings ? 2 : 3].fields.forward_thread; }

std::optional<SchemaName> ReadSchemaName(RemoteAddr schema, const pp_torch_row& row, RemoteMemory& memory) {
  const bool is_old = (row.flags & PP_TORCH_ROW_OLD_STRINGS) != 0;
  const auto read = [&](RemoteAddr at, std::string& text) {
    uint64_t string[2] = {0, 0};
    if (memory.Read(at, string, is_old ? sizeof string[0] : sizeof string) != ReadStatus::kOk || string[0] == 0) {
      return false;
    }
    uint64_t length = string[1];
    if (is_old && memory.ReadValue(RemoteAddr(string[0] - PP_TORCH_BEFORE_NAME), &length) != ReadStatus::kOk) {
      return false;
    }
    if (length > kLongestSchemaName) {
      return false;
    }
    text.resize(length);
    return length == 0 || (memory.Read(RemoteAddr(string[0]), text.data(), length) == ReadStatus::kOk && IsName(text));
  };
  SchemaName name;
  if (!read(schema, name.name) || name.name.find("::") == std::string::npos) {
    return std::nullopt;
  }
  if (!read(schema + (is_old ? sizeof(uint64_t) : kStringBytes), name.overload)) {
    name.overload.clear();
  }
  return name;
}

std::optional<RawOperator> ReadRaw(const pp_torch_raw& raw, const pp_torch_row& row, RemoteMemory& memory) {
  RawOperator one;
  one.handle = At<uint64_t>(raw, row.handle);
  one.sequence = At<int64_t>(raw, row.sequence);
  one.scope = At<uint8_t>(raw, PP_TORCH_AT_SCOPE);
  const auto index = At<uint8_t>(raw, row.function_index);
  const auto forward = At<uint64_t>(raw, row.forward_thread);
  const auto is_async = At<uint8_t>(raw, row.is_async);
  if (one.handle == 0 || one.handle >= kMostHandles || one.sequence < -1 ||
      one.sequence >= static_cast<int64_t>(kMostHandles) || one.scope >= kScopes || index > PP_TORCH_FN_SCHEMA ||
      forward >= kMostThreads || is_async > 1) {
    return std::nullopt;
  }
  one.forward_thread = static_cast<uint32_t>(forward);
  one.is_async = is_async != 0;
  std::optional<std::string> name;
  if (index == PP_TORCH_FN_SCHEMA) {
    one.function = At<uint64_t>(raw, PP_TORCH_AT_FUNCTION);
    if (std::optional<SchemaName> schema = ReadSchemaName(RemoteAddr(one.function), row, memory)) {
      name = std::move(schema->name);
      one.overload = std::move(schema->overload);
    }
  } else {
    name = RangeName(raw, row);
  }
  if (!name.has_value()) {
    return std::nullopt;
  }
  one.name = *std::move(name);
  return one;
}

void TorchRowChoice::Try(uint64_t thread, const pp_torch_raw& raw) {
  for (size_t i = 0; i < candidates_.size(); ++i) {
    Candidate& candidate = candidates_[i];
    if (!candidate.fits) {
      continue;
    }
    const std::optional<RawOperator> read = ReadRaw(raw, kRows[i].fields, memory_);
    auto last = std::ranges::find(candidate.last_handles, thread, &std::pair<uint64_t, uint64_t>::first);
    if (last == candidate.last_handles.end()) {
      last = candidate.last_handles.insert(last, {thread, 0});
    }
    // Handles are numbers of one counter for all threads.
    candidate.fits = read.has_value() && read->handle > last->second;
    if (candidate.fits) {
      last->second = read->handle;
      candidate.schemas += read->function != 0 ? 1 : 0;
      ++candidate.objects;
    }
  }
}

const TorchRow* TorchRowChoice::Chosen(bool is_last) const {
  const TorchRow* chosen = nullptr;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    const Candidate& candidate = candidates_[i];
    if (!candidate.fits) {
      continue;
    }
    const bool is_enough = is_last ? candidate.objects >= kLeastObjects && candidate.schemas > 0
                                   : candidate.objects >= kEnoughObjects && candidate.schemas >= kEnoughSchemas;
    if (chosen != nullptr || !is_enough) {
      return nullptr;
    }
    chosen = &kRows[i];
  }
  return chosen;
}

bool TorchRowChoice::IsHopeless() const { return std::ranges::none_of(candidates_, &Candidate::fits); }

}  // namespace ptrace_prof
