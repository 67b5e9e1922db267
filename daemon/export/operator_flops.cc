#include "daemon/export/operator_flops.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ptrace_prof {
namespace {

using Sizes = std::vector<uint64_t>;

constexpr uint64_t kMost = uint64_t{1} << 40;  // of one size: products of a few must not overflow a double
constexpr size_t kMostInputs = 64;

// The inputs as numbers. A list of tensors, or a size that makes no sense, is empty.
struct Inputs {
  std::vector<Sizes> sizes;
  std::vector<Sizes> values;  // of lists of numbers, and of single numbers

  const Sizes& size(size_t index) const { return index < sizes.size() ? sizes[index] : kNone; }
  const Sizes& value(size_t index) const { return index < values.size() ? values[index] : kNone; }

  static inline const Sizes kNone;
};

Sizes NumbersIn(const rapidjson::Value& array) {
  Sizes numbers;
  for (const auto& one : array.GetArray()) {
    if (!one.IsUint64() || one.GetUint64() > kMost) {
      return {};
    }
    numbers.push_back(one.GetUint64());
  }
  return numbers;
}

// Truth as numbers.
std::string WithoutWords(std::string text) {
  for (const auto& [word, number] : {std::pair<std::string_view, const char*>{"True", "1"}, {"False", "0"}}) {
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) {
      text.replace(at, word.size(), number);
    }
  }
  return text;
}

Inputs Parse(const OperatorInputs& given) {
  Inputs inputs;
  rapidjson::Document sizes;
  rapidjson::Document values;
  constexpr unsigned kFlags = rapidjson::kParseIterativeFlag;
  if (sizes.Parse<kFlags>(given.sizes.c_str()).HasParseError() || !sizes.IsArray() ||
      values.Parse<kFlags>(given.values.c_str()).HasParseError() || !values.IsArray() || sizes.Size() > kMostInputs) {
    return inputs;
  }
  for (const auto& one : sizes.GetArray()) {
    inputs.sizes.push_back(one.IsArray() ? NumbersIn(one) : Sizes());
  }
  for (const auto& one : values.GetArray()) {
    rapidjson::Document inner;
    Sizes numbers;
    if (one.IsString() && !inner.Parse<kFlags>(WithoutWords(one.GetString()).c_str()).HasParseError()) {
      if (inner.IsArray()) {
        numbers = NumbersIn(inner);
      } else if (inner.IsUint64() && inner.GetUint64() <= kMost) {
        numbers = {inner.GetUint64()};
      }
    }
    inputs.values.push_back(std::move(numbers));
  }
  return inputs;
}

double Product(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), 1.0,
                         [](double product, uint64_t size) { return product * static_cast<double>(size); });
}

using Count = std::optional<double>;

// [… m k] by [… k n].
Count Matrices(const Sizes& a, const Sizes& b, size_t dimensions) {
  if (a.size() != dimensions || b.size() != dimensions || a.back() != b[dimensions - 2]) {
    return std::nullopt;
  }
  return 2 * Product(a) * static_cast<double>(b.back());
}

Count Elements(const Inputs& inputs) { return inputs.sizes.empty() ? Count() : Product(inputs.size(0)); }

// The places of a convolution's arguments.
struct ConvolutionArguments {
  size_t stride, padding, dilation, groups;
};

Count Convolution(const Inputs& inputs, const ConvolutionArguments& at) {
  const Sizes& image = inputs.size(0);
  const Sizes& weight = inputs.size(1);
  const size_t spatial = image.size() < 3 ? 0 : image.size() - 2;
  const Sizes& groups = inputs.value(at.groups);
  if (spatial == 0 || weight.size() != image.size() || groups.size() != 1 || groups[0] == 0) {
    return std::nullopt;
  }
  // A list of one number is for all dimensions.
  const auto number = [spatial](const Sizes& list, size_t i) -> std::optional<uint64_t> {
    return list.size() == spatial ? std::optional(list[i]) : list.size() == 1 ? std::optional(list[0]) : std::nullopt;
  };
  double places = static_cast<double>(image[0]);  // of the output, for each of its channels
  for (size_t i = 0; i < spatial; ++i) {
    const auto stride = number(inputs.value(at.stride), i);
    const auto padding = number(inputs.value(at.padding), i);
    const auto dilation = number(inputs.value(at.dilation), i);
    if (!stride || !padding || !dilation || *stride == 0 || weight[i + 2] == 0) {
      return std::nullopt;
    }
    const uint64_t reach = *dilation * (weight[i + 2] - 1) + 1;
    const uint64_t padded = image[i + 2] + 2 * *padding;
    const uint64_t windows = padded < reach ? 0 : (padded - reach) / *stride + 1;
    places *= static_cast<double>(windows);
  }
  return 2 * places * Product(weight);  // weight: out channels, in channels / groups, kernel
}

// The gradients of the input and of the weight cost as much as the convolution itself: every place of the output (of a
// transposed one: of the input) with the whole kernel.
Count ConvolutionBackward(const Inputs& inputs) {
  constexpr size_t kTransposed = 7, kMask = 10;  // the mask says which gradients are wanted
  const Sizes& transposed = inputs.value(kTransposed);
  const Sizes& mask = inputs.value(kMask);
  const Sizes& weight = inputs.size(2);
  if (transposed.size() != 1 || mask.size() != 3) {
    return std::nullopt;
  }
  const Sizes& walked = inputs.size(transposed[0] != 0 ? 1 : 0);
  if (walked.size() < 3 || weight.size() != walked.size()) {
    return std::nullopt;
  }
  const double places = Product(walked) / static_cast<double>(std::max<uint64_t>(walked[1], 1));  // without channels
  return 2 * places * Product(weight) * static_cast<double>(mask[0] + mask[1]);
}

// Query, key and value are [batch, heads, length, width]. `first`: the place of the query. So many products of the
// pairs of positions with the width of a key, and of a value.
Count Attention(const Inputs& inputs, size_t first, double with_keys, double with_values) {
  const Sizes& query = inputs.size(first);
  const Sizes& key = inputs.size(first + 1);
  const Sizes& value = inputs.size(first + 2);
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || query[3] != key[3] || key[2] != value[2]) {
    return std::nullopt;
  }
  const double pairs = static_cast<double>(query[0] * query[1]) * static_cast<double>(query[2] * key[2]);
  return 2 * pairs * (with_keys * static_cast<double>(query[3]) + with_values * static_cast<double>(value[3]));
}
Count AttentionForward(const Inputs& inputs) { return Attention(inputs, 0, 1, 1); }
// The scores once more, their gradient, and those of query, key and value (torch/utils/flop_counter.py).
Count AttentionBackward(const Inputs& inputs) { return Attention(inputs, 1, 3, 2); }

struct Rule {
  std::string_view name;
  Count (*count)(const Inputs&);
};
constexpr Rule kRules[] = {
    {"aten::mm", [](const Inputs& in) { return Matrices(in.size(0), in.size(1), 2); }},
    {"aten::addmm", [](const Inputs& in) { return Matrices(in.size(1), in.size(2), 2); }},
    {"aten::bmm", [](const Inputs& in) { return Matrices(in.size(0), in.size(1), 3); }},
    {"aten::baddbmm", [](const Inputs& in) { return Matrices(in.size(1), in.size(2), 3); }},
    {"aten::_scaled_mm", [](const Inputs& in) { return Matrices(in.size(0), in.size(1), 2); }},
    {"aten::add", Elements},
    {"aten::mul", Elements},
    {"aten::conv2d",
     [](const Inputs& in) {
       return Convolution(in, {3, 4, 5, 6});
     }},
    {"aten::conv1d",
     [](const Inputs& in) {
       return Convolution(in, {3, 4, 5, 6});
     }},
    {"aten::conv3d",
     [](const Inputs& in) {
       return Convolution(in, {3, 4, 5, 6});
     }},
    {"aten::convolution_backward", ConvolutionBackward},
    {"aten::scaled_dot_product_attention", AttentionForward},
    {"aten::_scaled_dot_product_flash_attention", AttentionForward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", AttentionForward},
    {"aten::_scaled_dot_product_efficient_attention", AttentionForward},
    {"aten::_scaled_dot_product_cudnn_attention", AttentionForward},
    {"aten::_scaled_dot_product_flash_attention_backward", AttentionBackward},
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", AttentionBackward},
    {"aten::_scaled_dot_product_efficient_attention_backward", AttentionBackward},
    {"aten::_scaled_dot_product_cudnn_attention_backward", AttentionBackward},
};

}  // namespace

std::optional<uint64_t> FlopsOf(std::string_view name, const OperatorInputs& inputs) {
  const auto* rule = std::ranges::find(kRules, name, &Rule::name);
  if (rule == std::end(kRules)) {
    return std::nullopt;
  }
  const Count count = rule->count(Parse(inputs));
  constexpr double kMostFlops = 1e18;
  return count && *count <= kMostFlops ? std::optional(static_cast<uint64_t>(*count)) : std::nullopt;
}

}  // namespace ptrace_prof
