// The words of the hook become what Kineto writes, and nothing makes a reader run past their end.
#include "daemon/collector/torch/torch_inputs.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "attach/abi/torch_arena.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kListTag = 14;
constexpr uint32_t kBoolTag = kListTag - PP_TORCH_BOOL_BEFORE_LIST;
constexpr uint32_t kFloat = 6;

constexpr uint64_t Tensor(uint32_t type, uint32_t dimensions) {
  return PP_TORCH_INPUT(PP_TORCH_INPUT_TENSOR, PP_TORCH_TAG_TENSOR, type, dimensions, 0);
}
constexpr uint64_t Number(uint32_t tag) { return PP_TORCH_INPUT(PP_TORCH_INPUT_NUMBER, tag, 0, 0, 0); }
constexpr uint64_t List(uint32_t written, uint32_t count) {
  return PP_TORCH_INPUT(PP_TORCH_INPUT_LIST, kListTag, 0, written, count);
}

TEST(TorchInputs, AreWrittenAsKinetoDoes) {
  const std::vector<uint64_t> words = {Tensor(kFloat, 2),
                                       64,
                                       32,
                                       32,
                                       1,  // a tensor
                                       Number(PP_TORCH_TAG_INT),
                                       static_cast<uint64_t>(-100),  // numbers
                                       Number(PP_TORCH_TAG_DOUBLE),
                                       std::bit_cast<uint64_t>(0.0),  //
                                       Number(PP_TORCH_TAG_DOUBLE),
                                       std::bit_cast<uint64_t>(0.001),  //
                                       Number(kBoolTag),
                                       0xffffffffffffff01,  // one byte counts
                                       List(2, 2),
                                       Number(PP_TORCH_TAG_INT),
                                       0,
                                       Number(PP_TORCH_TAG_INT),
                                       1,  // of numbers
                                       List(2, 5),
                                       Tensor(4, 0),
                                       Tensor(kFloat, 1),
                                       3,
                                       1,  // of tensors, the first two
                                       PP_TORCH_INPUT(PP_TORCH_INPUT_OTHER, PP_TORCH_TAG_NONE, 0, 0, 0),  //
                                       PP_TORCH_INPUT(PP_TORCH_INPUT_UNDEFINED, PP_TORCH_TAG_TENSOR, 0, 0, 0),
                                       0};
  const OperatorInputs inputs = DescribeInputs(words, kListTag);
  EXPECT_EQ(inputs.sizes, "[[64, 32], [], [], [], [], [], [[], [3], \"...\"], [], []]");
  EXPECT_EQ(inputs.strides, "[[32, 1], [], [], [], [], [], [[], [1], \"...\"], [], []]");
  EXPECT_EQ(inputs.types, R"(["float", "Scalar", "Scalar", "Scalar", "Scalar", "ScalarList", "TensorList", "", ""])");
  EXPECT_EQ(inputs.values, R"(["", "-100", "0.", "0.001", "True", "[0, 1]", "", "", ""])");
  EXPECT_EQ(ListTagIn(words), kListTag);
}

TEST(TorchInputs, ABooleanNeedsTheTagOfLists) {
  const std::vector<uint64_t> words = {Number(kBoolTag), 1};
  EXPECT_EQ(DescribeInputs(words, 0).values, R"([""])");
  EXPECT_EQ(DescribeInputs(words, kListTag).values, R"(["True"])");
  EXPECT_EQ(ListTagIn(words), 0U);
}

TEST(TorchInputs, ALongListSaysSo) {
  const std::vector<uint64_t> words = {List(1, 100), Number(PP_TORCH_TAG_INT), 7};
  EXPECT_EQ(DescribeInputs(words, kListTag).values, R"(["[7, ...]"])");
}

TEST(TorchInputs, WhatHadNoRoomIsMarked) {
  const std::vector<uint64_t> words = {Tensor(kFloat, 1), 3, 1, PP_TORCH_INPUT(PP_TORCH_INPUT_CUT, 0, 0, 0, 9)};
  EXPECT_EQ(DescribeInputs(words, kListTag).sizes, R"([[3], "..."])");
  EXPECT_EQ(DescribeInputs(words, kListTag).types, R"(["float", "..."])");
}

TEST(TorchInputs, AnyPrefixAndAnyWordsAreTaken) {
  std::vector<uint64_t> words = {Tensor(kFloat, 255), 1, 2, List(255, 255), Tensor(200, 1), 5, 1, List(3, 3), 0};
  for (; !words.empty(); words.pop_back()) {
    const OperatorInputs inputs = DescribeInputs(words, kListTag);
    EXPECT_TRUE(inputs.sizes.starts_with("[") && inputs.sizes.ends_with("]"));
    (void)ListTagIn(words);
  }
  EXPECT_EQ(DescribeInputs({}, 0).types, "[]");
}

}  // namespace
}  // namespace ptrace_prof
