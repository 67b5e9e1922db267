#include "daemon/trace/held_tensor_codec.h"

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/wire_decoder.h"

namespace ptrace_prof {
namespace {

using TensorFields = trace::HeldTensor;

constexpr size_t kMaxTensorText = 2048;

struct TensorText {
  int field;
  std::string HeldTensor::*member;
};
constexpr TensorText kTensorTexts[] = {{TensorFields::kNameFieldNumber, &HeldTensor::name},
                                       {TensorFields::kOwnerFieldNumber, &HeldTensor::owner},
                                       {TensorFields::kTypeFieldNumber, &HeldTensor::type},
                                       {TensorFields::kSizesFieldNumber, &HeldTensor::sizes}};

}  // namespace

void EncodeHeldTensor(const HeldTensor& tensor, WireEncoder& out) {
  out.SignedVarint(TensorFields::kPidFieldNumber, tensor.pid.value);
  out.SignedVarint(TensorFields::kWhenNsFieldNumber, tensor.when.value);
  out.VarintIfSet(TensorFields::kRoleFieldNumber, static_cast<uint64_t>(tensor.role));
  for (const TensorText& text : kTensorTexts) {
    out.StringIfSet(text.field, std::string_view(tensor.*text.member).substr(0, kMaxTensorText));
  }
  out.VarintIfSet(TensorFields::kDeviceTypeFieldNumber, tensor.device.type);
  out.VarintIfSet(TensorFields::kDeviceIndexPlusOneFieldNumber, static_cast<uint64_t>(tensor.device.index + 1));
  out.VarintIfSet(TensorFields::kAddressFieldNumber, tensor.address);
  out.VarintIfSet(TensorFields::kBytesFieldNumber, static_cast<uint64_t>(tensor.bytes));
}

HeldTensor DecodeHeldTensor(std::string_view message) {
  HeldTensor tensor;
  WireDecoder decoder(message);
  for (WireField field; decoder.Next(field);) {
    for (const TensorText& text : kTensorTexts) {
      if (field.number == static_cast<uint32_t>(text.field)) {
        tensor.*text.member = field.bytes.substr(0, kMaxTensorText);
      }
    }
    switch (field.number) {
      case TensorFields::kPidFieldNumber: tensor.pid = Pid(static_cast<int32_t>(field.value)); break;
      case TensorFields::kWhenNsFieldNumber: tensor.when = Nanos(field.AsSigned()); break;
      case TensorFields::kRoleFieldNumber:
        tensor.role = field.value < kTensorRoles ? static_cast<TensorRole>(field.value) : TensorRole{};
        break;
      case TensorFields::kDeviceTypeFieldNumber: tensor.device.type = static_cast<uint8_t>(field.value); break;
      case TensorFields::kDeviceIndexPlusOneFieldNumber:
        tensor.device.index = static_cast<int8_t>(field.value - 1);
        break;
      case TensorFields::kAddressFieldNumber: tensor.address = field.value; break;
      case TensorFields::kBytesFieldNumber: tensor.bytes = static_cast<int64_t>(field.value); break;
      default: break;
    }
  }
  return tensor;
}

}  // namespace ptrace_prof
