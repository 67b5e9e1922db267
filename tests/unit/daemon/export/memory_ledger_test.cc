// What the blocks of a small training step were for.
#include "daemon/export/memory_ledger.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "daemon/export/memory_curve.h"

namespace ptrace_prof {
namespace {

constexpr Pid kJob{7};
constexpr TrackId kMain{0};
constexpr uint64_t kWeight = 0x1000, kState = 0x2000, kData = 0x3000, kHidden = 0x4000, kLoss = 0x5000;
constexpr uint64_t kGradient = 0x6000, kDetail = 0x7000, kScratch = 0x8000, kNew = 0x9000;

class Step : public testing::Test {
 protected:
  Step() {
    recording_.threads.resize(1);
    recording_.threads[0].info.pid = kJob;
  }

  // Operators come in the order of their ends.
  void Run(uint64_t handle, std::string_view name, int64_t begin, int64_t end, std::vector<uint64_t> storages = {},
           OperatorScope scope = OperatorScope::kFunction) {
    ledger_.OnOperator(kMain, {.begin = Nanos(begin),
                               .end = Nanos(end),
                               .name = name,
                               .handle = handle,
                               .scope = scope,
                               .storages = storages});
  }
  void Met(int64_t when, uint64_t address) {
    ledger_.OnAllocation(kMain, {.when = Nanos(when), .address = address, .bytes = 64, .was_there = true});
  }
  void Allocate(int64_t when, uint64_t handle, uint64_t address) {
    ledger_.OnAllocation(kMain, {.when = Nanos(when), .address = address, .bytes = 64, .operator_handle = handle});
  }
  void Free(int64_t when, uint64_t handle, uint64_t address) {
    ledger_.OnAllocation(kMain, {.when = Nanos(when), .address = address, .bytes = -64, .operator_handle = handle});
  }
  void Hold(TensorRole role, uint64_t address, std::string name) {
    ledger_.OnHeldTensor(
        {.pid = kJob, .when = Nanos(15), .role = role, .name = std::move(name), .address = address, .bytes = 64});
  }

  // Forward: linear(data, weight) → hidden, with a scratch block; loss(hidden). Backward: detail, gradient. Then a step
  // of the optimizer, which makes new state and a result that it frees.
  void Train() {
    Met(10, kData);
    Met(10, kWeight);
    Allocate(11, 2, kScratch);
    Allocate(12, 1, kHidden);
    Free(13, 2, kScratch);
    Run(2, "aten::addmm", 11, 19, {kData, kWeight});
    Run(1, "aten::linear", 10, 20, {kData, kWeight});
    Allocate(22, 3, kLoss);
    Run(3, "aten::mse_loss", 21, 29, {kHidden});
    Allocate(32, 5, kDetail);
    Run(5, "AddmmBackward0", 31, 38, {kLoss}, OperatorScope::kBackwardFunction);
    Run(4, "autograd::engine::evaluate_function: AddmmBackward0", 30, 39, {});
    Allocate(40, 6, kGradient);
    Run(6, "aten::clone", 40, 41, {kDetail});
    Run(7, "torch::autograd::AccumulateGrad", 42, 44, {kGradient}, OperatorScope::kBackwardFunction);
    Free(45, 0, kDetail);
    Met(51, kState);
    Allocate(52, 9, kScratch);
    Run(9, "aten::sqrt", 51, 53, {kState});
    Allocate(54, 10, kNew);
    Run(10, "aten::zeros_like", 54, 55, {kWeight});
    Run(11, "aten::addcdiv_", 56, 57, {kWeight, kScratch, kGradient});
    Free(58, 0, kScratch);
    Run(8, "Optimizer.step#Adam.step", 50, 60, {}, OperatorScope::kUserScope);
    ledger_.Finish();
  }

  std::string CategoryOf(uint64_t address) const {
    std::string categories;
    for (const MemoryBlock& block : ledger_.blocks()) {
      if (block.address == address) {
        categories += (categories.empty() ? "" : ", ") + std::string(NameOf(block.category));
      }
    }
    return categories;
  }

  Recording recording_;
  MemoryLedger ledger_{recording_};
};

TEST_F(Step, IsToldApartByWhatOperatorsReadAndMake) {
  Train();
  EXPECT_EQ(CategoryOf(kData), "input");
  EXPECT_EQ(CategoryOf(kHidden), "activation");
  EXPECT_EQ(CategoryOf(kLoss), "activation");
  EXPECT_EQ(CategoryOf(kGradient), "gradient");
  EXPECT_EQ(CategoryOf(kDetail), "autograd detail");
  EXPECT_EQ(CategoryOf(kScratch), "temporary, temporary");
  EXPECT_EQ(CategoryOf(kNew), "optimizer state");
  EXPECT_EQ(CategoryOf(kWeight), "parameter") << "an optimizer and the forward pass read it";
  EXPECT_EQ(CategoryOf(kState), "optimizer state") << "an optimizer reads it";
}

TEST_F(Step, BelievesTheObjectsOfTheJob) {
  Hold(TensorRole::kParameter, kWeight, "fc.weight");
  Hold(TensorRole::kBuffer, kData, "running_mean");
  Train();
  EXPECT_EQ(CategoryOf(kWeight), "parameter");
  EXPECT_EQ(CategoryOf(kData), "parameter");
  EXPECT_EQ(CategoryOf(kState), "unknown") << "no optimizer was found that holds it";
  EXPECT_EQ(ledger_.blocks().front().name, "running_mean");
}

TEST_F(Step, BecomesEventsAndACurve) {
  Train();
  const std::vector<MemoryEvent> events = MemoryEventsOf(ledger_, {});
  ASSERT_EQ(events.size(), 13);
  EXPECT_EQ(events[0].action, MemoryAction::kPreexisting);
  EXPECT_EQ(events[2].action, MemoryAction::kPreexisting) << "also that which was met late";
  EXPECT_EQ(events[2].when.value, 10);
  const std::vector<MemoryPoint> curve = MemoryCurveOf(events);
  EXPECT_EQ(curve.front().total(), 3 * 64);
  EXPECT_EQ(curve.back().total(), 7 * 64);
  for (size_t i = 1; i < curve.size(); ++i) {
    EXPECT_LT(curve[i - 1].when, curve[i].when);
  }
}

// What was not seen at all, or is nonsense, harms nothing else.
TEST_F(Step, SurvivesStrangeEvents) {
  Free(1, 0, kWeight);
  Allocate(2, 99, kWeight);
  Allocate(3, 99, kWeight);
  Free(4, 99, kWeight);
  Free(5, 99, kWeight);
  Run(12, "", 9, 3, {0, UINT64_MAX});
  ledger_.Finish();
  ASSERT_EQ(ledger_.blocks().size(), 2);
  EXPECT_EQ(MemoryCurveOf(MemoryEventsOf(ledger_, {})).back().total(), 0);
}

TEST_F(Step, IsOfTheDeviceWithMostMemory) {
  EXPECT_TRUE(MainDeviceOf(ledger_).is_cpu());
  for (const int8_t index : {int8_t{0}, int8_t{1}, int8_t{1}}) {
    ledger_.OnAllocation(
        kMain, {.when = Nanos(1), .address = kNew + static_cast<uint64_t>(index), .bytes = 64, .device = {1, index}});
  }
  Allocate(1, 0, kWeight);
  ledger_.Finish();
  EXPECT_EQ(DeviceName(MainDeviceOf(ledger_)), "cuda:1");
  EXPECT_EQ(MemoryEventsOf(ledger_, {1, 0}).size(), 1);
}

}  // namespace
}  // namespace ptrace_prof
