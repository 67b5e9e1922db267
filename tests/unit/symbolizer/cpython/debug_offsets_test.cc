#include "symbolizer/cpython/debug_offsets.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "symbolizer/cpython/debug_offsets_table.h"
#include "symbolizer/cpython/version_table.h"

namespace ptrace_prof {
namespace {

// A description in which every offset is a multiple of 8 that fits its structure. No CPython has these offsets, but
// they are consistent.
std::vector<std::byte> Description(uint32_t version) {
  const auto entries = DebugOffsetsEntries(PythonVersion::FromHex(version));
  std::vector<uint64_t> words = {0, version, 0};
  std::memcpy(words.data(), "xdebugpy", 8);
  for (const DebugOffsetsEntry& entry : entries) {
    const bool size = entry.name.ends_with(".size");
    words.push_back(size ? 512 : 64);
  }
  std::vector<std::byte> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

void SetEntry(std::vector<std::byte>& bytes, uint32_t version, std::string_view name, uint64_t value) {
  const auto entries = DebugOffsetsEntries(PythonVersion::FromHex(version));
  for (size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].name == name) {
      std::memcpy(bytes.data() + 24 + i * 8, &value, 8);
      return;
    }
  }
  FAIL() << name;
}

constexpr uint32_t k313 = 0x030d00f0;
constexpr uint32_t k314 = 0x030e02f0;
constexpr uint32_t k315 = 0x030f00f0;

TEST(ImportDebugOffsets, SizesOfTheStructureAreCPythons) {
  EXPECT_EQ(Description(k313).size(), 584U);
  EXPECT_EQ(Description(k314).size(), 760U);
  EXPECT_EQ(Description(k315).size(), 888U);
}

TEST(ImportDebugOffsets, TakesWhatIsConsistent) {
  for (const uint32_t version : {k313, k314, k315}) {
    const auto layout = ImportDebugOffsets(Description(version));
    ASSERT_TRUE(layout.has_value()) << layout.error().message;
    EXPECT_EQ(layout.value().thread_frame, 64U);
    EXPECT_EQ(layout.value().interp_gc_collecting, 128U);
    EXPECT_FALSE(layout.value().Has(&Layout::frame_tlbc_index));
  }
}

TEST(ImportDebugOffsets, NeedsTheCookie) {
  auto bytes = Description(k314);
  bytes[3] = std::byte{'x'};
  EXPECT_EQ(ImportDebugOffsets(bytes).error().code, Code::kNotFound);
  EXPECT_EQ(ImportDebugOffsets({}).error().code, Code::kNotFound);
}

TEST(ImportDebugOffsets, RefusesUnknownVersionsByName) {
  auto bytes = Description(k315);
  const uint64_t after_last = SupportedVersions().back().minor + 1U;
  const std::string unknown = "3." + std::to_string(after_last) + ".0";
  for (const auto& [hex, name] :
       std::vector<std::pair<uint64_t, std::string>>{{3U << 24 | after_last << 16 | 0xa3, unknown + "a3"},
                                                     {3U << 24 | after_last << 16 | 0xf0, unknown},
                                                     {0x030f00b4, "3.15.0b4"},
                                                     {0x030e00a1, "3.14.0a1"}}) {
    std::memcpy(bytes.data() + 8, &hex, 8);
    const auto layout = ImportDebugOffsets(bytes);
    ASSERT_TRUE(layout.has_error());
    EXPECT_EQ(layout.error().code, Code::kUnimplemented);
    EXPECT_NE(layout.error().message.find("CPython " + name + " "), std::string::npos) << layout.error().message;
  }
}

TEST(ImportDebugOffsets, RefusesNonsense) {
  for (const auto& [name, value] :
       std::vector<std::pair<std::string, uint64_t>>{{"thread_state.current_frame", UINT64_MAX},
                                                     {"thread_state.current_frame", 510},
                                                     {"thread_state.size", 0},
                                                     {"thread_state.size", 1ULL << 40},
                                                     {"interpreter_state.gc", 1ULL << 63},
                                                     {"interpreter_state.gil_runtime_state", 1ULL << 19},
                                                     {"code_object.argcount", 0},
                                                     {"interpreter_frame.previous", 61}}) {
    auto bytes = Description(k314);
    SetEntry(bytes, k314, name, value);
    const auto layout = ImportDebugOffsets(bytes);
    ASSERT_TRUE(layout.has_error()) << name;
    EXPECT_EQ(layout.error().code, Code::kDataLoss) << name;
  }
}

TEST(ImportDebugOffsets, ShortInputNeverReadsBeyond) {
  const auto bytes = Description(k314);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(ImportDebugOffsets(std::span(bytes).first(size)).has_error()) << size;
  }
}

}  // namespace
}  // namespace ptrace_prof
