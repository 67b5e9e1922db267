#include "daemon/collector/torch/torch_inputs.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <string>
#include <string_view>

#include "attach/abi/torch_arena.h"

namespace ptrace_prof {
namespace {

// By c10::ScalarType, as caffe2::TypeMeta::name() has them, which Kineto writes.
constexpr std::string_view kTypes[] = {"unsigned char",
                                       "signed char",
                                       "short int",
                                       "int",
                                       "long int",
                                       "c10::Half",
                                       "float",
                                       "double",
                                       "c10::complex<c10::Half>",
                                       "c10::complex<float>",
                                       "c10::complex<double>",
                                       "bool",
                                       "c10::qint8",
                                       "c10::quint8",
                                       "c10::qint32",
                                       "c10::BFloat16",
                                       "c10::quint4x2",
                                       "c10::quint2x4",
                                       "c10::bits1x8",
                                       "c10::bits2x4",
                                       "c10::bits4x2",
                                       "c10::bits8",
                                       "c10::bits16",
                                       "c10::Float8_e5m2",
                                       "c10::Float8_e4m3fn",
                                       "c10::Float8_e5m2fnuz",
                                       "c10::Float8_e4m3fnuz",
                                       "short unsigned int",
                                       "unsigned int",
                                       "long unsigned int"};
constexpr std::string_view kRest = R"(, "...")";  // stands for elements that were not recorded
constexpr double kMostWhole = 1e10;

// As c10::IValue prints it: whole numbers with a point.
std::string DoubleText(double value) {
  if (std::isfinite(value) && std::abs(value) < kMostWhole && std::trunc(value) == value) {
    return fmt::format("{}{}.", std::signbit(value) && value == 0 ? "-" : "", static_cast<int64_t>(value));
  }
  return fmt::format("{:.17g}", value);
}

struct Element {
  std::string sizes = "[]";
  std::string strides = "[]";
  std::string type;
  std::string value;
  bool is_tensor = false;
};

class InputReader {
 public:
  InputReader(std::span<const uint64_t> words, uint32_t list_tag) : words_(words), list_tag_(list_tag) {}

  bool is_cut() const { return is_cut_; }  // the hook had no room for the rest
  // False: there are no more.
  bool Next(Element& element, bool is_inner = false) {
    element = {};
    if (at_ >= words_.size()) {
      return false;
    }
    const uint64_t head = words_[at_++];
    switch (PP_TORCH_INPUT_KIND(head)) {
      case PP_TORCH_INPUT_TENSOR:
      case PP_TORCH_INPUT_SPARSE: return ReadTensor(head, element);
      case PP_TORCH_INPUT_NUMBER: return ReadNumber(head, element);
      case PP_TORCH_INPUT_LIST: return !is_inner && ReadList(head, element);
      case PP_TORCH_INPUT_UNDEFINED:
      case PP_TORCH_INPUT_UNKNOWN: element.is_tensor = true; return true;
      case PP_TORCH_INPUT_OTHER: return true;
      case PP_TORCH_INPUT_CUT: is_cut_ = true; return false;
      default: return false;
    }
  }

 private:
  bool ReadTensor(uint64_t head, Element& element) {
    const uint32_t dimensions = PP_TORCH_INPUT_DIMENSIONS(head);
    const bool has_strides = PP_TORCH_INPUT_KIND(head) == PP_TORCH_INPUT_TENSOR;
    if (words_.size() - at_ < size_t{dimensions} * (has_strides ? 2 : 1)) {
      return false;
    }
    element.is_tensor = true;
    const uint32_t type = PP_TORCH_INPUT_TYPE(head);
    element.type = type < std::size(kTypes) ? std::string(kTypes[type]) : fmt::format("type {}", type);
    element.sizes = Numbers(dimensions);
    element.strides = Numbers(has_strides ? dimensions : 0);
    return true;
  }
  std::string Numbers(uint32_t count) {
    std::string text = "[";
    for (uint32_t i = 0; i < count; ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<int64_t>(words_[at_++]));
    }
    return text + "]";
  }
  bool ReadNumber(uint64_t head, Element& element) {
    if (at_ >= words_.size()) {
      return false;
    }
    const uint64_t payload = words_[at_++];
    const uint32_t tag = PP_TORCH_INPUT_TAG(head);
    if (tag == PP_TORCH_TAG_INT) {
      element.value = fmt::format("{}", static_cast<int64_t>(payload));
    } else if (tag == PP_TORCH_TAG_DOUBLE) {
      element.value = DoubleText(std::bit_cast<double>(payload));
    } else if (list_tag_ != 0 && tag + PP_TORCH_BOOL_BEFORE_LIST == list_tag_) {
      element.value = (payload & 0xff) != 0 ? "True" : "False";
    } else {
      return true;  // of another kind, such as a text
    }
    element.type = "Scalar";
    return true;
  }
  bool ReadList(uint64_t head, Element& list) {
    const uint32_t written = PP_TORCH_INPUT_DIMENSIONS(head);
    const bool is_whole = written == PP_TORCH_INPUT_COUNT(head);
    std::string sizes;
    std::string strides;
    std::string values;
    bool has_tensors = false;
    for (uint32_t i = 0; i < written; ++i) {
      Element element;
      if (!Next(element, true)) {
        return false;
      }
      const std::string_view separator = i == 0 ? "" : ", ";
      has_tensors = has_tensors || element.is_tensor;
      sizes += fmt::format("{}{}", separator, element.sizes);
      strides += fmt::format("{}{}", separator, element.strides);
      values += fmt::format("{}{}", separator, element.value);
    }
    if (has_tensors) {
      const std::string_view rest = is_whole ? "" : kRest;
      list.type = "TensorList";
      list.sizes = fmt::format("[{}{}]", sizes, rest);
      list.strides = fmt::format("[{}{}]", strides, rest);
    } else {
      list.type = "ScalarList";
      list.value = fmt::format("[{}{}]", values, is_whole ? "" : ", ...");
    }
    return true;
  }

  const std::span<const uint64_t> words_;
  const uint32_t list_tag_;
  size_t at_ = 0;
  bool is_cut_ = false;
};

}  // namespace

uint32_t ListTagIn(std::span<const uint64_t> words) {
  for (size_t at = 0; at < words.size();) {
    const uint64_t head = words[at++];
    switch (PP_TORCH_INPUT_KIND(head)) {
      case PP_TORCH_INPUT_TENSOR: at += size_t{2} * PP_TORCH_INPUT_DIMENSIONS(head); break;
      case PP_TORCH_INPUT_SPARSE: at += PP_TORCH_INPUT_DIMENSIONS(head); break;
      case PP_TORCH_INPUT_NUMBER: ++at; break;
      case PP_TORCH_INPUT_LIST:
        if (PP_TORCH_INPUT_COUNT(head) > 0) {
          return PP_TORCH_INPUT_TAG(head);
        }
        break;
      case PP_TORCH_INPUT_END: return 0;
      default: break;
    }
  }
  return 0;
}

OperatorInputs DescribeInputs(std::span<const uint64_t> words, uint32_t list_tag) {
  OperatorInputs inputs;
  InputReader reader(words, list_tag);
  std::string_view separator;
  for (Element element; reader.Next(element); separator = ", ") {
    inputs.sizes += fmt::format("{}{}", separator, element.sizes);
    inputs.strides += fmt::format("{}{}", separator, element.strides);
    inputs.types += fmt::format("{}\"{}\"", separator, element.type);
    inputs.values += fmt::format("{}\"{}\"", separator, element.value);
  }
  for (std::string* text : {&inputs.sizes, &inputs.strides, &inputs.types, &inputs.values}) {
    *text = fmt::format("[{}{}]", *text, reader.is_cut() ? kRest : "");
  }
  return inputs;
}

}  // namespace ptrace_prof
