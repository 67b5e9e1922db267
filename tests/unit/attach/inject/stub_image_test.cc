#include "attach/inject/stub_image.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "attach/abi/boot.h"
#include "attach/inject/stub_kind.h"

namespace ptrace_prof {
namespace {

TEST(StubImage, IsAnElfFileWithABootBlockOfThisVersion) {
  const std::span<const uint8_t> image = TracerStubImage();
  ASSERT_GT(image.size(), sizeof(pp_boot));
  EXPECT_EQ(std::memcmp(image.data(),
                        "\x7f"
                        "ELF",
                        4),
            0);
  const auto at = FindBootBlock(kTracerStub, image);
  ASSERT_TRUE(at.has_value());
  ASSERT_LE(at.value() + sizeof(pp_boot), image.size());
  EXPECT_EQ(at.value() % alignof(pp_boot), 0u);
  pp_boot boot;
  std::memcpy(&boot, image.data() + at.value(), sizeof(boot));
  EXPECT_EQ(boot.magic[0], PP_BOOT_MAGIC_0);
  EXPECT_EQ(boot.magic[1], PP_BOOT_MAGIC_1);
  EXPECT_EQ(boot.abi_version, PP_ABI_VERSION);
  EXPECT_EQ(boot.busy, 0u);
}

TEST(StubImage, ExportsTheInitFunctionOfItsModule) {
  const std::span<const uint8_t> image = TracerStubImage();
  const std::string text(reinterpret_cast<const char*>(image.data()), image.size());
  EXPECT_NE(text.find("PyInit_" + std::string(kTracerStub.module)), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof
