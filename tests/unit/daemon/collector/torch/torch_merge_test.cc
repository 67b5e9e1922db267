// Records of all rings come in the order of time, whole, and no target can make us keep too many.
#include "daemon/collector/torch/torch_merge.h"

#include <gtest/gtest.h>

#include <string>

namespace ptrace_prof {
namespace {

class Merge : public ::testing::Test {
 protected:
  void Add(size_t ring, std::initializer_list<uint64_t> times) {
    std::vector<pp_record> records;
    for (const uint64_t when : times) {
      records.push_back({PP_WHEN_TAG(when, PP_TAG_LOST), 0});
    }
    merge_.Add(ring, Tid(static_cast<int32_t>(ring)), ring, records);
  }
  // Ring and time of each record.
  std::vector<std::pair<size_t, uint64_t>> Take(uint64_t until) {
    std::vector<std::pair<size_t, uint64_t>> taken;
    merge_.Take(until, [&](size_t ring, Tid tid, uint64_t thread, std::span<const pp_record> records) {
      EXPECT_EQ(tid.value, static_cast<int32_t>(ring));
      EXPECT_EQ(thread, ring);
      for (const pp_record& record : records) {
        taken.emplace_back(ring, PP_WHEN(record.when_tag));
      }
    });
    return taken;
  }
  using Taken = std::vector<std::pair<size_t, uint64_t>>;

  TorchMerge merge_;
};

TEST_F(Merge, OrdersAndWaits) {
  Add(1, {10, 20, 50});
  Add(2, {5, 30, 40});
  EXPECT_EQ(Take(30), (Taken{{2, 5}, {1, 10}, {1, 20}, {2, 30}}));
  EXPECT_FALSE(merge_.IsEmpty(1));
  Add(1, {60});
  EXPECT_EQ(Take(55), (Taken{{2, 40}, {1, 50}}));
  EXPECT_TRUE(merge_.IsEmpty(2));
  EXPECT_EQ(Take(1000), (Taken{{1, 60}}));
  EXPECT_TRUE(merge_.IsEmpty(1));
}

TEST_F(Merge, ATimeThatGoesBackIsThatOfTheRecordBefore) {
  Add(1, {10, 3, 20});
  Add(2, {5});
  EXPECT_EQ(Take(1000), (Taken{{2, 5}, {1, 10}, {1, 3}, {1, 20}}));
}

TEST_F(Merge, PayloadsStayWithTheirRecord) {
  std::vector<pp_record> records = {{PP_WHEN_TAG(10, PP_TAG_EXTENDED), PP_EXTENDED(PP_EXTENDED_OP, 2, 1)},
                                    {PP_WHEN_TAG(1, PP_TAG_LOST), 0},  // looks like a record
                                    {PP_WHEN_TAG(99, PP_TAG_LOST), 0},
                                    {PP_WHEN_TAG(30, PP_TAG_EXTENDED), PP_EXTENDED(PP_EXTENDED_OP_END, 0, 1)}};
  merge_.Add(1, Tid(1), 1, records);
  Add(2, {20});
  std::vector<size_t> sizes;
  merge_.TakeAll([&](size_t, Tid, uint64_t, std::span<const pp_record> taken) { sizes.push_back(taken.size()); });
  EXPECT_EQ(sizes, (std::vector<size_t>{3, 1, 1}));
}

TEST_F(Merge, APayloadThatIsMissing) {
  const pp_record head{PP_WHEN_TAG(10, PP_TAG_EXTENDED), PP_EXTENDED(PP_EXTENDED_OP, 9, 1)};
  merge_.Add(1, Tid(1), 1, {&head, 1});
  EXPECT_EQ(Take(100).size(), 1U);
}

TEST_F(Merge, TooManyAreGivenAway) {
  const std::vector<pp_record> far(100'000, {PP_WHEN_TAG(uint64_t{1} << 50, PP_TAG_LOST), 0});
  size_t taken = 0;
  for (int i = 0; i < 20; ++i) {
    merge_.Add(1, Tid(1), 1, far);
    taken += Take(100).size();
  }
  EXPECT_GT(taken, 1'800'000U);
}

}  // namespace
}  // namespace ptrace_prof
