// What operators add up to, and when one of them is its caller (as torch.profiler sees it: _remove_dup_nodes).
#include "daemon/export/operator_totals.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

class Totals : public ::testing::Test {
 protected:
  // As in a trace: those that end first come first.
  void Add(std::string_view name, int64_t begin, int64_t end, int64_t cpu_memory = 0, uint32_t track = 0) {
    totals_.Add(TrackId(track), {.begin = Nanos(begin), .end = Nanos(end), .name = name, .cpu_memory = cpu_memory});
  }
  OperatorRow Row(std::string_view name) const {
    for (const OperatorRow& row : totals_.Rows()) {
      if (row.name == name) {
        return row;
      }
    }
    return {};
  }

  OperatorTotals totals_;
};

TEST_F(Totals, TimeAndMemoryContainWhatIsCalled) {
  Add("inner", 10, 20, 100);
  Add("inner", 20, 30, 50);
  Add("other thread", 12, 18, 7, 1);
  Add("outer", 5, 40, -30);
  EXPECT_EQ(Row("outer").total, Nanos(35));
  EXPECT_EQ(Row("outer").self, Nanos(15));
  EXPECT_EQ(Row("outer").cpu_memory, 120);
  EXPECT_EQ(Row("outer").self_cpu_memory, -30);
  EXPECT_EQ(Row("inner").count, 2U);
  EXPECT_EQ(Row("inner").total, Nanos(20));
  EXPECT_EQ(Row("inner").cpu_memory, 150);
  EXPECT_TRUE(totals_.has_memory());
  EXPECT_FALSE(totals_.has_device_memory());
}

TEST_F(Totals, TheOnlyOneOfItsNameIsItsCaller) {
  Add("aten::to", 12, 14, 8);
  Add("aten::div_", 11, 18, 4);
  Add("aten::div_", 10, 20, 2);
  EXPECT_EQ(Row("aten::div_").count, 1U);
  EXPECT_EQ(Row("aten::div_").total, Nanos(10));
  EXPECT_EQ(Row("aten::div_").self, Nanos(8));  // without aten::to
  EXPECT_EQ(Row("aten::div_").cpu_memory, 14);
  EXPECT_EQ(Row("aten::div_").self_cpu_memory, 6);
}

TEST_F(Totals, AnyNumberOfThem) {
  Add("aten::div_", 13, 14);
  Add("aten::div_", 12, 15);
  Add("aten::div_", 11, 16);
  EXPECT_EQ(Row("aten::div_").count, 1U);
  EXPECT_EQ(Row("aten::div_").self, Nanos(5));
}

TEST_F(Totals, OneOfSeveralIsNot) {
  Add("aten::add", 11, 12);
  Add("aten::to", 12, 13);
  Add("aten::add", 10, 20);
  EXPECT_EQ(Row("aten::add").count, 2U);
  EXPECT_EQ(Row("aten::add").total, Nanos(11));
  EXPECT_EQ(Row("aten::add").self, Nanos(9));
}

TEST_F(Totals, ARowThatWasTakenOverIsGone) {
  OperatorTotals by_shape(OperatorGrouping::kShape);
  const OperatorInputs inner{.sizes = "[[2]]"};
  const OperatorInputs outer{.sizes = "[[2], []]"};
  by_shape.Add(TrackId(0), {.begin = Nanos(11), .end = Nanos(12), .name = "aten::add", .inputs = &inner});
  by_shape.Add(TrackId(0), {.begin = Nanos(10), .end = Nanos(20), .name = "aten::add", .inputs = &outer});
  ASSERT_EQ(by_shape.Rows().size(), 1U);
  EXPECT_EQ(by_shape.Rows()[0].group, outer.sizes);
}

// As torch.profiler: the work of a GPU is a row of its own, and is in the rows of what launched it.
TEST_F(Totals, TimeOfAGpu) {
  const auto add = [this](std::string_view name, int64_t begin, int64_t end, int64_t device) {
    totals_.Add(TrackId(0), {.begin = Nanos(begin), .end = Nanos(end), .name = name}, 0, "", Nanos(device));
  };
  EXPECT_FALSE(totals_.has_device_time());
  add("cudaLaunchKernel", 12, 14, 0);
  add("aten::div_", 11, 18, 0);
  add("aten::mm", 20, 25, 500);
  add("aten::div_", 10, 30, 40);
  totals_.AddDevice("gemm", 2, Nanos(540));
  EXPECT_TRUE(totals_.has_device_time());
  EXPECT_EQ(Row("aten::div_").total_device, Nanos(540));
  EXPECT_EQ(Row("aten::div_").self_device, Nanos(40));
  EXPECT_EQ(Row("aten::mm").self_device, Nanos(500));
  EXPECT_EQ(Row("gemm").kind, OperatorRowKind::kDevice);
  EXPECT_EQ(Row("gemm").total_device, Nanos(540));
  EXPECT_EQ(Row("gemm").count, 2U);
  EXPECT_EQ(Row("gemm").total, Nanos(0));
  EXPECT_EQ(totals_.Rows(OperatorOrder::kSelfDevice)[1].name, "aten::mm");
}

}  // namespace
}  // namespace ptrace_prof
