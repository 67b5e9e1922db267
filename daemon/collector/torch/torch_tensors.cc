#include "daemon/collector/torch/torch_tensors.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <string_view>

#include "attach/abi/torch_arena.h"
#include "daemon/collector/torch/torch_rows.h"
#include "symbolizer/cpython/frame_walker.h"

namespace ptrace_prof {
namespace {

constexpr size_t kImplementationBytes = 192;
constexpr size_t kMaxSizes = 64;
constexpr size_t kMostTypes = 64;
// c10::TensorImpl: autograd_meta_ comes after storage_. torch::autograd::AutogradMeta: grad_ comes after its table of
// functions and its name, a std::string (1.13 to 2.15).
constexpr uint64_t kMetaBehindStorage = 8;
constexpr uint64_t kGradient = 40;
constexpr uint64_t kGradientOfOldStrings = 16;

// By c10::ScalarType.
constexpr std::string_view kNames[] = {"uint8",           "int8",
                                       "int16",           "int32",
                                       "int64",           "float16",
                                       "float32",         "float64",
                                       "complex32",       "complex64",
                                       "complex128",      "bool",
                                       "qint8",           "quint8",
                                       "qint32",          "bfloat16",
                                       "quint4x2",        "quint2x4",
                                       "bits1x8",         "bits2x4",
                                       "bits4x2",         "bits8",
                                       "bits16",          "float8_e5m2",
                                       "float8_e4m3fn",   "float8_e5m2fnuz",
                                       "float8_e4m3fnuz", "uint16",
                                       "uint32",          "uint64"};

using Bytes = std::array<uint8_t, kImplementationBytes>;

template <typename T>
T At(const Bytes& bytes, size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) {
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  }
  return value;
}

}  // namespace

// A THPVariable has its Variable after the object's head; up to some version after 2.4 it is a c10::MaybeOwned, which
// begins with a flag.
RemoteAddr TensorReader::ImplementationOf(RemoteAddr object) {
  uint64_t words[2] = {0, 0};
  if (memory_.Read(object + layout_.object_type + sizeof(uint64_t), words, sizeof words) != ReadStatus::kOk) {
    return {};
  }
  return RemoteAddr(words[0] > 1 ? words[0] : words[1]);
}

std::optional<TensorView> TensorReader::ReadAs(RemoteAddr implementation, const pp_torch_tensor& row) {
  Bytes bytes{};
  if (!IsPlausibleAddress(implementation.value) ||
      memory_.Read(implementation, bytes.data(), bytes.size()) != ReadStatus::kOk) {
    return std::nullopt;
  }
  TensorView view{.implementation = implementation, .type = At<uint16_t>(bytes, row.type)};
  const auto dimensions = At<uint64_t>(bytes, row.sizes);
  if (dimensions > kMaxSizes || view.type >= kMostTypes) {
    return std::nullopt;
  }
  view.sizes.resize(dimensions);
  const RemoteAddr sizes =
      dimensions > PP_TORCH_INLINE ? RemoteAddr(At<uint64_t>(bytes, row.sizes + 8)) : implementation + row.sizes + 8;
  if (dimensions > 0 && memory_.Read(sizes, view.sizes.data(), dimensions * sizeof(int64_t)) != ReadStatus::kOk) {
    return std::nullopt;
  }
  int64_t elements = 1;
  for (const int64_t size : view.sizes) {
    if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) {
      return std::nullopt;
    }
  }
  if (elements != At<int64_t>(bytes, row.elements)) {
    return std::nullopt;
  }
  const RemoteAddr storage(At<uint64_t>(bytes, row.storage));
  pp_torch_storage said{};
  if (!storage.IsNull() && memory_.ReadValue(storage + row.data, &said) == ReadStatus::kOk && said.address != 0) {
    view.address = said.address;
    view.bytes = static_cast<int64_t>(said.bytes);
    view.device = {PP_TORCH_DEVICE_TYPE(said.device), PP_TORCH_DEVICE_INDEX(said.device)};
  }
  return view;
}

bool TensorReader::Learn(std::span<const RemoteAddr> objects) {
  row_ = nullptr;
  size_t best = 0;
  for (const pp_torch_tensor& row : TensorRows()) {
    size_t fitting = 0;
    for (const RemoteAddr object : objects) {
      const std::optional<TensorView> view = ReadAs(ImplementationOf(object), row);
      fitting += view.has_value() && !view->sizes.empty() ? 1 : 0;
    }
    if (fitting > best) {
      best = fitting;
      row_ = &row;
    }
  }
  if (best * 2 <= objects.size()) {
    row_ = nullptr;
  }
  return row_ != nullptr;
}

std::optional<TensorView> TensorReader::Read(RemoteAddr object) {
  return row_ != nullptr ? ReadAs(ImplementationOf(object), *row_) : std::nullopt;
}

std::optional<TensorView> TensorReader::ReadGradient(const TensorView& tensor) {
  RemoteAddr meta;
  RemoteAddr gradient;
  if (row_ == nullptr ||
      memory_.ReadValue(tensor.implementation + row_->storage + kMetaBehindStorage, &meta.value) != ReadStatus::kOk ||
      !IsPlausibleAddress(meta.value) ||
      memory_.ReadValue(meta + (has_old_strings_ ? kGradientOfOldStrings : kGradient), &gradient.value) !=
          ReadStatus::kOk) {
    return std::nullopt;
  }
  std::optional<TensorView> view = ReadAs(gradient, *row_);
  return view.has_value() && view->sizes == tensor.sizes ? view : std::nullopt;
}

std::string TensorTypeName(uint16_t type) {
  return type < std::size(kNames) ? std::string(kNames[type]) : fmt::format("type {}", type);
}

}  // namespace ptrace_prof
