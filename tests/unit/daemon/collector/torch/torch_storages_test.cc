// Where tensors have their memory is taken out of the hook's words, whatever these are.
#include "daemon/collector/torch/torch_storages.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "attach/abi/torch_arena.h"
#include "daemon/collector/torch/torch_inputs.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kCuda1 = 0x101;

uint64_t Stored(uint32_t dimensions, uint64_t device = 0xff00) {
  return PP_TORCH_INPUT(PP_TORCH_INPUT_STORED, PP_TORCH_TAG_TENSOR, 6, dimensions, device);
}

TEST(TorchStorages, AreTakenOutOfTheWords) {
  std::vector<uint64_t> words = {Stored(2),
                                 4,
                                 8,
                                 8,
                                 1,
                                 0x1000,
                                 128,  // a tensor
                                 PP_TORCH_INPUT(PP_TORCH_INPUT_LIST, 14, 0, 2, 2),
                                 Stored(0, kCuda1),
                                 0x2000,
                                 4,  // the first of a list
                                 PP_TORCH_INPUT(PP_TORCH_INPUT_TENSOR, PP_TORCH_TAG_TENSOR, 6, 1, 0),
                                 3,
                                 1,
                                 PP_TORCH_INPUT(PP_TORCH_INPUT_NUMBER, PP_TORCH_TAG_INT, 0, 0, 0),
                                 7,
                                 PP_TORCH_INPUT_END};
  const std::vector<TensorStorage> expected = {{0x1000, 128, {0, -1}}, {0x2000, 4, {1, 1}}};
  EXPECT_EQ(TakeStorages(words), expected);
  const OperatorInputs inputs = DescribeInputs(words, 14);
  EXPECT_EQ(inputs.sizes, "[[4, 8], [[], [3]], []]");
  EXPECT_EQ(inputs.strides, "[[8, 1], [[], [1]], []]");
  EXPECT_EQ(inputs.values, R"(["", "", "7"])");
  EXPECT_TRUE(TakeStorages(words).empty()) << "once";
}

TEST(TorchStorages, NeverReadBeyondTheEnd) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    std::vector<uint64_t> words(random() % 12);
    for (uint64_t& word : words) {
      word = random() % 3 == 0 ? random() : Stored(static_cast<uint32_t>(random() % 6)) + random() % 3;
    }
    const size_t before = words.size();
    const std::vector<TensorStorage> storages = TakeStorages(words);
    EXPECT_LE(words.size() + 2 * storages.size(), before);
    (void)DescribeInputs(words, 0);
  }
}

}  // namespace
}  // namespace ptrace_prof
