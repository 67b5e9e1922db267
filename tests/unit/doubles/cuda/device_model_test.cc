// The GPU of the doubles: its queues are in order, its clock is its own and can be converted back to host time.
extern "C" {
#include "tests/doubles/cuda/device_model.h"
}

#include <gtest/gtest.h>

namespace {

double_op Operation(double_op_kind kind, uint32_t stream, uint8_t copy_kind = 0) {
  double_op op = {};
  op.kind = kind;
  op.stream = stream;
  op.copy_kind = copy_kind;
  return op;
}

double_op Queued(double_op op, uint64_t duration) {
  model_queue(&op, duration);
  return op;
}

class DeviceModel : public testing::Test {
 protected:
  DeviceModel() { model_start(); }
};

TEST_F(DeviceModel, ClockIsInvertible) {
  const uint64_t now = model_idle_at(0) + uint64_t{1000000000};
  for (const uint64_t later : {uint64_t{0}, uint64_t{1}, uint64_t{999983}, uint64_t{3600} * 1000000000}) {
    const uint64_t back = model_host_time(model_ticks(now + later));
    EXPECT_LE(back > now + later ? back - now - later : now + later - back, 1u);
  }
  EXPECT_GT(model_ticks(now + 1000000000) - model_ticks(now), 1000000000u);  // it runs fast
}

TEST_F(DeviceModel, StreamIsInOrder) {
  const uint32_t stream = model_create_stream(0);
  const double_op first = Queued(Operation(kOpKernel, stream), 50000);
  const double_op second = Queued(Operation(kOpKernel, stream), 1000);
  EXPECT_GE(second.start, first.end);
  EXPECT_EQ(second.grid_id, first.grid_id + 1);
  EXPECT_LE(model_host_time(second.end), model_idle_at(stream) + 1);
}

TEST_F(DeviceModel, StreamsRunBesideEachOther) {
  const double_op slow = Queued(Operation(kOpKernel, model_create_stream(0)), uint64_t{1000000000} * 1000);
  const double_op fast = Queued(Operation(kOpKernel, model_create_stream(0)), 1000);
  EXPECT_LT(fast.end, slow.end);
  EXPECT_NE(fast.channel, slow.channel);
}

TEST_F(DeviceModel, CopiesOfADirectionShareAnEngine) {
  const uint64_t long_time = uint64_t{1000000000} * 1000;
  const double_op there = Queued(Operation(kOpMemcpy, model_create_stream(0), 1), long_time);
  const double_op after = Queued(Operation(kOpMemcpy, model_create_stream(0), 1), 1000);
  const double_op back = Queued(Operation(kOpMemcpy, model_create_stream(0), 2), 1000);
  EXPECT_GE(after.start, there.end);
  EXPECT_LT(back.end, there.end);
}

TEST_F(DeviceModel, InventoryHasEveryStream) {
  double_inventory before = {}, after = {};
  model_inventory(&before);
  const uint32_t stream = model_create_stream(0);
  model_inventory(&after);
  EXPECT_EQ(after.contexts, 1u);
  EXPECT_EQ(after.stream_ids[0], uint32_t{kNullStream});
  ASSERT_EQ(after.streams, before.streams + 1);
  EXPECT_EQ(after.stream_ids[before.streams], stream);
}

}  // namespace
