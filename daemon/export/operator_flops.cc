#include "daemon/export/operator_flops.h"

#include <rapidjson/document.h>

#include <algorithm>
#include <iterator>
#include <numeric>
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
    if (one.IsString() && !inner.Parse<kFlags>(one.GetString()).HasParseError()) {
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

// Query, key and value are [batch, heads, length, width].
Count Attention(const Inputs& inputs) {
  const Sizes& query = inputs.size(0);
  const Sizes& key = inputs.size(1);
  const Sizes& value = inputs.size(2);
  if (query.size() != 4 || key.size() != 4 || value.size() != 4 || query[3] != key[3] || key[2] != value[2]) {
    return std::nullopt;
  }
  const double pairs = static_cast<double>(query[0] * query[1]) * static_cast<double>(query[2] * key[2]);
  return 2 * pairs * static_cast<double>(query[3] + value[3]);
}

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
    {"aten::scaled_dot_product_attention", Attention},
    {"aten::_scaled_dot_product_flash_attention", Attention},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", Attention},
    {"aten::_scaled_dot_product_efficient_attention", Attention},
    {"aten::_scaled_dot_product_cudnn_attention", Attention},
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
