// Where the shim takes the fields of CUPTI's records to be, by what CUPTI says with its buffers.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "attach/intarget/cupti_records.h"
#include "tests/unit/attach_intarget_gpu_target.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kStackBytes = 2 * PP_PAGE;
constexpr uint8_t kKind = 10;
constexpr std::array<uint8_t, 3> kAsked = {0, 24, 7};

class GpuLayoutsTest : public testing::Test {
 protected:
  GpuLayoutsTest() : memory_(PP_GPU_ARENA_SIZE(1, uint64_t{PP_GPU_MIN_SLOT_BYTES}, uint64_t{kStackBytes}) / 8) {
    gpu_target_prepare(memory_.data(), kStackBytes);
    gpu_target_ask(kKind, kAsked.data(), kAsked.size());
    for (size_t i = 0; i < places_.size(); ++i) {
      places_[i] = {sizeof places_[i], static_cast<int>(kAsked[i]), i * 8, i == 0 ? size_t{4} : size_t{8}, 8};
    }
    layouts_[kKind] = &told_;
  }

  void Complete() { gpu_target_complete(&info_); }
  const pp_gpu_arena& arena() const { return *reinterpret_cast<const pp_gpu_arena*>(memory_.data()); }
  const pp_gpu_layout& layout() const { return arena().layouts[0]; }
  void ExpectUnknown() const {
    EXPECT_EQ(layout().state, uint32_t{PP_GPU_LAYOUT_UNKNOWN});
    EXPECT_EQ(arena().layouts_told, 0);
  }

  std::vector<uint64_t> memory_;
  std::array<pp_cupti_field_place, 3> places_{};
  pp_cupti_record_layout told_{sizeof told_, places_.data(), places_.size(), 24};
  std::array<pp_cupti_record_layout*, 60> layouts_{};
  pp_cupti_complete_info info_{sizeof info_, 0, layouts_.data(), layouts_.size()};
};

TEST_F(GpuLayoutsTest, AreWrittenDownOnceInTheOrderInWhichTheyWereAskedFor) {
  std::swap(places_[1], places_[2]);  // a library may have them in another
  Complete();
  EXPECT_EQ(layout().state, uint32_t{PP_GPU_LAYOUT_KNOWN});
  EXPECT_EQ(layout().bytes, 24);
  EXPECT_EQ((std::array{layout().offsets[0], layout().offsets[1], layout().offsets[2]}),
            (std::array<uint16_t, 3>{0, 8, 16}));
  EXPECT_EQ((std::array{layout().sizes[0], layout().sizes[1], layout().sizes[2]}), (std::array<uint8_t, 3>{4, 8, 8}));
  EXPECT_EQ(arena().strides[kKind], 24);
  Complete();
  EXPECT_EQ(arena().layouts_told, 1);
}

TEST_F(GpuLayoutsTest, AStrideThatWasMeasuredStays) {
  reinterpret_cast<pp_gpu_arena*>(memory_.data())->strides[kKind] = 32;
  Complete();
  EXPECT_EQ(arena().strides[kKind], 32);
}

TEST_F(GpuLayoutsTest, EntriesOfALaterVersionMayBeLonger) {
  struct Longer {
    pp_cupti_field_place place;
    uint64_t more;
  };
  std::array<Longer, 3> longer{};
  for (size_t i = 0; i < longer.size(); ++i) {
    longer[i] = {places_[i], ~uint64_t{0}};
    longer[i].place.size = sizeof longer[i];
  }
  told_.places = &longer[0].place;
  Complete();
  EXPECT_EQ(layout().state, uint32_t{PP_GPU_LAYOUT_KNOWN});
  EXPECT_EQ(layout().offsets[2], 16);
}

TEST_F(GpuLayoutsTest, OtherPlacesThanBeforeAreAContradictionForGood) {
  Complete();
  places_[2].offset = 8;
  Complete();
  EXPECT_EQ(layout().state, uint32_t{PP_GPU_LAYOUT_CONTRADICTED});
  EXPECT_EQ(arena().layouts_told, 2);
  EXPECT_EQ(layout().offsets[2], 16) << "what was known stays as it was";
  places_[2].offset = 16;
  Complete();
  EXPECT_EQ(layout().state, uint32_t{PP_GPU_LAYOUT_CONTRADICTED});
}

TEST_F(GpuLayoutsTest, AnotherLengthThanBeforeIsOneToo) {
  Complete();
  told_.bytes = 32;
  Complete();
  EXPECT_EQ(layout().state, uint32_t{PP_GPU_LAYOUT_CONTRADICTED});
  EXPECT_EQ(layout().bytes, 24);
}

TEST_F(GpuLayoutsTest, WhatCannotBeIsNotWrittenDown) {
  const auto contradicts = [&] {
    Complete();
    const bool is_so = layout().state == PP_GPU_LAYOUT_CONTRADICTED;
    reinterpret_cast<pp_gpu_arena*>(memory_.data())->layouts[0].state = PP_GPU_LAYOUT_UNKNOWN;
    return is_so;
  };
  told_.places = nullptr;
  EXPECT_TRUE(contradicts());
  told_.places = places_.data();
  told_.count = 0;
  EXPECT_TRUE(contradicts());
  told_.count = places_.size();
  told_.bytes = 3;
  EXPECT_TRUE(contradicts());
  told_.bytes = size_t{1} << 40;
  EXPECT_TRUE(contradicts());
  told_.bytes = 24;
  told_.size = 8;
  EXPECT_TRUE(contradicts());
  told_.size = sizeof told_;
  EXPECT_FALSE(contradicts());
}

TEST_F(GpuLayoutsTest, FieldsThatAreNotThereOrNotWithinTheRecordHaveNoLength) {
  places_[1].field = 23;
  places_[2].offset = 17;
  Complete();
  EXPECT_EQ(layout().state, uint32_t{PP_GPU_LAYOUT_KNOWN});
  EXPECT_EQ((std::array{layout().sizes[0], layout().sizes[1], layout().sizes[2]}), (std::array<uint8_t, 3>{4, 0, 0}));
  reinterpret_cast<pp_gpu_arena*>(memory_.data())->layouts[0].state = PP_GPU_LAYOUT_UNKNOWN;
  places_[2].offset = ~size_t{0} - 3;
  Complete();
  EXPECT_EQ(layout().sizes[2], 0);
}

TEST_F(GpuLayoutsTest, NothingIsTakenOfABufferThatSaysNothingOfThem) {
  gpu_target_complete(nullptr);
  info_.size = 16;
  Complete();
  info_ = {sizeof info_, 0, nullptr, layouts_.size()};
  Complete();
  info_ = {sizeof info_, 0, layouts_.data(), kKind};  // fewer kinds than that
  Complete();
  info_.count = layouts_.size();
  layouts_[kKind] = nullptr;
  Complete();
  ExpectUnknown();
}

TEST_F(GpuLayoutsTest, NothingIsTouchedOnceTheMemoryIsNotOurs) {
  gpu_target_set_alive(0);
  Complete();
  ExpectUnknown();
}

}  // namespace
}  // namespace ptrace_prof
