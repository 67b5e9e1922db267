// The counts of torch.profiler (with_flops) and of torch.utils.flop_counter, written out here as products.
#include "daemon/export/operator_flops.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

std::optional<uint64_t> Flops(std::string_view name, std::string sizes, std::string values = "[]") {
  return FlopsOf(name, {.sizes = std::move(sizes), .strides = "", .types = "", .values = std::move(values)});
}

TEST(OperatorFlops, OfMatrices) {
  EXPECT_EQ(Flops("aten::mm", "[[64, 64], [64, 256]]"), 2 * 64 * 64 * 256);
  EXPECT_EQ(Flops("aten::addmm", "[[256], [64, 64], [64, 256], [], []]"), 2 * 64 * 64 * 256);
  EXPECT_EQ(Flops("aten::bmm", "[[8, 3, 4], [8, 4, 5]]"), 2 * 8 * 3 * 4 * 5);
  EXPECT_EQ(Flops("aten::baddbmm", "[[8, 3, 5], [8, 3, 4], [8, 4, 5], [], []]"), 2 * 8 * 3 * 4 * 5);
  EXPECT_EQ(Flops("aten::add", "[[64, 64], [64, 64], []]"), 64 * 64);
  EXPECT_EQ(Flops("aten::mul", "[[], []]"), 1);
}

// The gradients of x[2, 6, 10, 12] and w[4, 3, 3, 5] of a convolution with the output [2, 4, 5, 4] in 2 groups.
TEST(OperatorFlops, OfConvolutionsBackward) {
  const std::string sizes = "[[2, 4, 5, 4], [2, 6, 10, 12], [4, 3, 3, 5], [], [], [], [], [], [], [], []]";
  const auto values = [](const std::string& transposed, const std::string& mask) {
    return R"(["", "", "", "[4]", "[2, 1]", "[1, 0]", "[1, 2]", ")" + transposed + R"(", "[0, 0]", "2", ")" + mask +
           R"("])";
  };
  constexpr uint64_t kForward = uint64_t{2} * (2 * 5 * 4) * (4 * 3 * 3 * 5);
  EXPECT_EQ(Flops("aten::convolution_backward", sizes, values("False", "[True, True, True]")), 2 * kForward);
  EXPECT_EQ(Flops("aten::convolution_backward", sizes, values("False", "[False, True, False]")), kForward);
  EXPECT_EQ(Flops("aten::convolution_backward", sizes, values("True", "[False, True, False]")),
            uint64_t{2} * (2 * 10 * 12) * (4 * 3 * 3 * 5));
  EXPECT_EQ(Flops("aten::convolution_backward", sizes, values("", "[True, True, True]")), std::nullopt);
}

// Query [2, 4, 8, 16], key and value [2, 4, 10, 16] and [2, 4, 10, 32].
TEST(OperatorFlops, OfAttentionBackward) {
  const uint64_t pairs = 2 * 4 * 8 * 10;
  EXPECT_EQ(Flops("aten::_scaled_dot_product_flash_attention_for_cpu_backward",
                  "[[2, 4, 8, 32], [2, 4, 8, 16], [2, 4, 10, 16], [2, 4, 10, 32], [], [], []]"),
            2 * pairs * (3 * 16 + 2 * 32));
  EXPECT_EQ(Flops("aten::_scaled_dot_product_flash_attention", "[[2, 4, 8, 16], [2, 4, 10, 16], [2, 4, 10, 32]]"),
            2 * pairs * (16 + 32));
}

// conv2d(x[2, 6, 10, 12], w[4, 3, 3, 5], stride (2, 1), padding (1, 0), dilation (1, 2), groups 2): out [2, 4, 5, 4].
TEST(OperatorFlops, OfConvolutions) {
  EXPECT_EQ(Flops("aten::conv2d", "[[2, 6, 10, 12], [4, 3, 3, 5], [4], [], [], [], []]",
                  R"(["", "", "", "[2, 1]", "[1, 0]", "[1, 2]", "2"])"),
            uint64_t{2} * (2 * 4 * 5 * 4) * (3 * 3 * 5));
  EXPECT_EQ(Flops("aten::conv1d", "[[2, 6, 10], [4, 6, 3], [4], [], [], [], []]",
                  R"(["", "", "", "[1]", "[1]", "[1]", "1"])"),
            uint64_t{2} * (2 * 4 * 10) * (6 * 3));
}

TEST(OperatorFlops, OfAttention) {
  EXPECT_EQ(Flops("aten::scaled_dot_product_attention", "[[2, 8, 16, 64], [2, 8, 32, 64], [2, 8, 32, 48], [], [], []]"),
            uint64_t{2} * 2 * 8 * 16 * 32 * (64 + 48));
}

TEST(OperatorFlops, AreUnknownWhereSizesDoNotFit) {
  EXPECT_EQ(Flops("aten::relu", "[[64]]"), std::nullopt);
  EXPECT_EQ(Flops("aten::mm", "[[64, 64], [63, 256]]"), std::nullopt);
  EXPECT_EQ(Flops("aten::mm", "[[64, 64]]"), std::nullopt);
  EXPECT_EQ(Flops("aten::mm", "nonsense"), std::nullopt);
  EXPECT_EQ(Flops("aten::mm", "[[-1, 1], [1, 1]]"), std::nullopt);
  EXPECT_EQ(Flops("aten::mm", "[[1099511627776, 1099511627776], [1099511627776, 1099511627776]]"), std::nullopt);
  EXPECT_EQ(Flops("aten::conv2d", "[[2, 6, 10, 12], [4, 3, 3, 5]]"), std::nullopt);
  EXPECT_EQ(Flops("aten::conv2d", "[[2, 6, 10, 12], [4, 3, 3, 5], [4], [], [], [], []]",
                  R"(["", "", "", "[0]", "[1]", "[1]", "1"])"),
            std::nullopt);
  EXPECT_EQ(Flops("aten::add", "[]"), std::nullopt);
}

}  // namespace
}  // namespace ptrace_prof
