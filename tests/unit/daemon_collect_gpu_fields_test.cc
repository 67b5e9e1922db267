// Records whose fields were chosen: what is asked for, and what is read where the library says that it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "daemon/collect/gpu_fields.h"
#include "daemon/collect/gpu_launches.h"
#include "tests/unit/daemon_collect_gpu_joined.h"

namespace ptrace_prof {
namespace {

constexpr size_t kKernelRow = 0;
constexpr uint16_t kKernelKind = 10;
constexpr uint8_t kStart = 7, kEnd = 8, kStream = 12, kCorrelation = 22, kName = 24;

size_t ColumnOf(size_t row, uint8_t id) {
  const auto fields = GpuChosenFields()[row].fields;
  const auto found = std::ranges::find(fields, id, &GpuField::id);
  EXPECT_NE(found, fields.end());
  return 1 + static_cast<size_t>(found - fields.begin());
}

// A library that puts the fields of a kernel where it likes; what it is not told of it does not have.
class KernelLayout {
 public:
  explicit KernelLayout(uint16_t bytes) {
    layouts_.strides[kKernelKind] = bytes;
    row() = {.state = PP_GPU_LAYOUT_KNOWN, .bytes = bytes, .offsets = {}, .sizes = {4}};
  }
  KernelLayout& Put(uint8_t id, uint16_t offset, uint8_t size) {
    const size_t column = ColumnOf(kKernelRow, id);
    row().offsets[column] = offset;
    row().sizes[column] = size;
    return *this;
  }
  pp_gpu_layout& row() { return layouts_.rows[kKernelRow]; }
  GpuLayouts& layouts() { return layouts_; }
  std::vector<GpuRecord> Read(std::span<const uint8_t> bytes) {
    decoder_.Learn(layouts_);
    return Decode(decoder_, bytes);
  }
  uint64_t unknown() const { return decoder_.unknown(); }
  uint64_t unread_bytes() const { return decoder_.unread_bytes(); }

 private:
  GpuLayouts layouts_;
  GpuDecoder decoder_;
};

Bytes OneKernel(uint64_t correlation) {
  Bytes record;
  record.Put(0, uint32_t{kKernelKind});
  record.Put(8, correlation);
  record.Put(16, uint64_t{200});
  record.Put(24, uint64_t{100});
  record.Put(32, uint64_t{0xffffffff00000007});
  return record;
}

KernelLayout Usual() {
  KernelLayout layout(40);
  layout.Put(kCorrelation, 8, 8).Put(kEnd, 16, 8).Put(kStart, 24, 8).Put(kStream, 32, 8);
  return layout;
}

TEST(GpuFields, OfEachKindTheKindComesFirstAndAllFitTheBootBlock) {
  pp_gpu_boot boot{};
  SetGpuFields(&boot);
  const auto chosen = GpuChosenFields();
  for (size_t row = 0; row < chosen.size(); ++row) {
    EXPECT_EQ(boot.fields[row].kind, static_cast<uint8_t>(chosen[row].kind));
    ASSERT_EQ(boot.fields[row].count, chosen[row].fields.size() + 1);
    EXPECT_EQ(boot.fields[row].ids[0], 0);
    for (size_t i = 0; i < chosen[row].fields.size(); ++i) {
      const GpuField& field = chosen[row].fields[i];
      EXPECT_EQ(boot.fields[row].ids[i + 1], field.id);
      EXPECT_LE(field.to + field.size, sizeof(GpuRecord));
    }
  }
  EXPECT_TRUE(chosen.size() == PP_GPU_LAYOUTS || boot.fields[chosen.size()].kind == 0);
}

TEST(GpuFields, AreReadWhereTheLibraryPutsThem) {
  KernelLayout layout = Usual();
  Bytes bytes;
  bytes.Append(OneKernel(0x1'2345'6789), 40).Append(OneKernel(2), 40);
  const auto records = layout.Read(bytes.span());
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].kind, GpuRecordKind::kKernel);
  EXPECT_EQ(records[0].start, 100);
  EXPECT_EQ(records[0].end, 200);
  EXPECT_EQ(records[0].correlation, 0x1'2345'6789) << "all 64 bits";
  EXPECT_EQ(records[0].stream, 7) << "the lower half";
  EXPECT_EQ(records[0].context, 0) << "what lies beside it stays as it was";
  EXPECT_EQ(records[0].name, 0) << "not there";
  EXPECT_EQ(records[1].correlation, 2);
}

TEST(GpuFields, NothingIsReadOfAKindBeforeItIsKnownWhereItsFieldsAre) {
  for (const uint32_t state : {uint32_t{PP_GPU_LAYOUT_UNKNOWN}, uint32_t{PP_GPU_LAYOUT_CONTRADICTED}, uint32_t{77}}) {
    KernelLayout layout = Usual();
    layout.row().state = state;
    Bytes bytes;
    bytes.Append(OneKernel(1), 40).Append(OneKernel(2), 40);
    EXPECT_TRUE(layout.Read(bytes.span()).empty()) << state;
    EXPECT_EQ(layout.unknown(), 2) << "what is behind it is found all the same";
    EXPECT_EQ(layout.unread_bytes(), 0);
    layout.layouts().strides[kKernelKind] = 0;
    EXPECT_TRUE(layout.Read(bytes.span()).empty());
    EXPECT_EQ(layout.unread_bytes(), 80) << "unless nobody knows where";
    layout.layouts().strides[kKernelKind] = 40;
    layout.row().state = PP_GPU_LAYOUT_KNOWN;
    EXPECT_EQ(layout.Read(bytes.span()).size(), 2) << state;
  }
}

TEST(GpuFields, WhatIsSaidOfThemIsBelievedOnlyWithinTheRecord) {
  Bytes bytes;
  bytes.Append(OneKernel(1), 40);
  const auto reads = [&](auto change) {
    KernelLayout layout = Usual();
    change(layout);
    return layout.Read(bytes.span());
  };
  EXPECT_TRUE(reads([](KernelLayout& l) { l.row().sizes[0] = 8; }).empty()) << "another kind of kind";
  EXPECT_TRUE(reads([](KernelLayout& l) { l.row().offsets[0] = 4; }).empty()) << "which is not in front";
  EXPECT_TRUE(reads([](KernelLayout& l) { l.row().bytes = 3; }).empty()) << "shorter than that";
  EXPECT_TRUE(reads([](KernelLayout& l) { l.row().bytes = 48; }).empty()) << "longer than to the next";
  EXPECT_TRUE(reads([](KernelLayout& l) { l.layouts().strides[kKernelKind] = 0; }).empty());
  EXPECT_TRUE(reads([](KernelLayout& l) { l.layouts().strides[kKernelKind] = 41; }).empty()) << "than the buffer";
  const auto without_name = [&](uint16_t offset, uint8_t size) {
    const auto records = reads([&](KernelLayout& l) { l.Put(kName, offset, size); });
    ASSERT_EQ(records.size(), 1);
    EXPECT_EQ(records[0].name, 0);
    EXPECT_EQ(records[0].end, 200);
  };
  without_name(33, 8);
  without_name(0xffff, 8);
  without_name(8, 3);
  without_name(8, 16);
  without_name(8, 255);
  const auto records = reads([](KernelLayout& l) { l.Put(kName, 8, 8); });
  ASSERT_EQ(records.size(), 1);
  EXPECT_EQ(records[0].name, 1);
}

TEST(GpuFields, UuidsAreReadAsAWhole) {
  constexpr uint8_t kUuid = 28;
  GpuLayouts layouts;
  const auto chosen = GpuChosenFields();
  const auto device = std::ranges::find(chosen, GpuRecordKind::kDevice, &GpuFieldsOfKind::kind);
  const auto row = static_cast<size_t>(device - chosen.begin());
  layouts.strides[8] = 24;
  layouts.rows[row] = {.state = PP_GPU_LAYOUT_KNOWN, .bytes = 24, .offsets = {}, .sizes = {4}};
  layouts.rows[row].offsets[ColumnOf(row, kUuid)] = 8;
  layouts.rows[row].sizes[ColumnOf(row, kUuid)] = 16;
  GpuDecoder decoder;
  decoder.Learn(layouts);
  Bytes bytes;
  bytes.Put(0, uint32_t{8});
  bytes.Put(8, uint64_t{0x0807060504030201});
  bytes.Put(16, uint64_t{0x100f0e0d0c0b0a09});
  const auto records = Decode(decoder, bytes.span());
  ASSERT_EQ(records.size(), 1);
  for (size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(records[0].uuid[i], i + 1);
  }
}

TEST(GpuFields, WideCorrelationsAreTakenAsTheyAre) {
  GpuLaunches launches;
  launches.ExpectWide();
  EXPECT_EQ(launches.Widen(0x1'0000'0005), 0x1'0000'0005);
  EXPECT_EQ(launches.Widen(5), 5) << "an older one, not one that wrapped";
}

}  // namespace
}  // namespace ptrace_prof
