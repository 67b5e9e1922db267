#include "attach/inject/stub_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace ptrace_prof {
namespace {

std::vector<uint8_t> WithBoots(int count) {
  pp_boot boot{};
  boot.magic[0] = PP_BOOT_MAGIC_0;
  boot.magic[1] = PP_BOOT_MAGIC_1;
  boot.abi_version = PP_ABI_VERSION;
  std::vector<uint8_t> bytes(100 + static_cast<size_t>(count) * sizeof boot);
  for (int i = 0; i < count; ++i) {
    std::memcpy(bytes.data() + 100 + static_cast<size_t>(i) * sizeof boot, &boot, sizeof boot);
  }
  return bytes;
}

TEST(StubFile, IsCarriedByOurProgramAndReportedItsPart) {
  Result<StubFile> stub = StubFile::Carried();
  ASSERT_TRUE(stub.has_value()) << stub.error().message;
  pp_boot boot{};
  boot.nonce = 0x0123456789abcdef;
  boot.busy = 7;  // a field that is not ours
  stub.value().Fill(boot);
  EXPECT_EQ(stub.value().boot().nonce, boot.nonce);
  EXPECT_EQ(stub.value().boot().busy, 0U);
  EXPECT_STREQ(stub.value().boot().channel_name, "ptrace-prof-ring.0123456789abcdef");
  EXPECT_EQ(stub.value().boot().abi_version, PP_ABI_VERSION);
  const Result<StubFile> again = StubFile::Parse(stub.value().bytes());
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again.value().boot().nonce, boot.nonce);
}

TEST(StubFile, HasExactlyOneBootBlockOfOurVersion) {
  EXPECT_TRUE(StubFile::Parse(WithBoots(0)).has_error());
  EXPECT_TRUE(StubFile::Parse(WithBoots(1)).has_value());
  EXPECT_TRUE(StubFile::Parse(WithBoots(2)).has_error());
  std::vector<uint8_t> cut = WithBoots(1);
  cut.pop_back();
  EXPECT_TRUE(StubFile::Parse(cut).has_error());
  std::vector<uint8_t> other = WithBoots(1);
  other[100 + offsetof(pp_boot, abi_version)] ^= 0x40;
  EXPECT_TRUE(StubFile::Parse(other).has_error());
}

TEST(StubFile, NamesFitIntoTheBlock) {
  for (const StubKind* kind : {&kTracerStub, &kGpuShim}) {
    EXPECT_LT(StubMemoryName(*kind, UINT64_MAX).size(), sizeof(pp_boot_head::memory_name));
  }
  EXPECT_NE(StubFileName(kTracerStub, 1), StubFileName(kTracerStub, 2));
}

}  // namespace
}  // namespace ptrace_prof
