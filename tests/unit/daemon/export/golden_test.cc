// Every format of one small trace against the files in tests/golden. After a wanted change: run this test with
// PP_GOLDEN_UPDATE=1, and look at the difference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/perfetto.pb.h"
#include "tests/unit/daemon/export/exporting.h"
#include "tests/unit/daemon/export/sample_trace.h"

namespace ptrace_prof {
namespace {

class GoldenTest : public testing::TestWithParam<FormatInfo> {};

std::string GoldenPath(const FormatInfo& info, const std::string& what = "export") {
  const std::string extension = info.format == ExportFormat::kPprof  ? ".pb"
                                : info.format == ExportFormat::kHtml ? ".json"
                                                                     : std::string(info.extensions.front());
  return std::string(PP_GOLDEN_FOLDER) + "/" + what + "_" + std::string(info.name) + extension;
}

void ExpectGolden(const FormatInfo& info, const std::string& trace, const std::string& what, uint64_t samples) {
  const Exported exported = Export(trace, info.format);
  ASSERT_TRUE(exported.result.has_value()) << exported.result.error().message;
  EXPECT_EQ(exported.result.value().samples, samples);
  EXPECT_FALSE(exported.result.value().cut);
  const std::string essence = Essence(info.format, exported.bytes);
  if (info.format == ExportFormat::kPerfetto) {  // a copy; the writer's process id is in its sequence ids
    EXPECT_TRUE(essence == trace);
    return;
  }
  if (::getenv("PP_GOLDEN_UPDATE") != nullptr) {
    std::ofstream(GoldenPath(info, what), std::ios::binary) << essence;
  }
  const std::string golden = ReadFile(GoldenPath(info, what));
  ASSERT_FALSE(golden.empty()) << GoldenPath(info, what) << " is missing";
  EXPECT_TRUE(essence == golden) << GoldenPath(info, what) << " differs from:\n" << essence.substr(0, 20'000);
}

TEST_P(GoldenTest, IsWhatWasReviewed) { ExpectGolden(GetParam(), SampleTrace(), "export", 219); }

TEST_P(GoldenTest, OfExactCallsIsWhatWasReviewed) { ExpectGolden(GetParam(), CallTrace(), "calls", 10); }

TEST_P(GoldenTest, OfAGpuIsWhatWasReviewed) { ExpectGolden(GetParam(), GpuTrace(), "gpu", 250); }

INSTANTIATE_TEST_SUITE_P(Formats, GoldenTest, testing::ValuesIn(FormatsOfAnyTrace()), [](const auto& param) {
  std::string name(param.param.name);
  std::ranges::replace(name, '-', '_');
  return name;
});

// The trace as somebody would see it who knows only Perfetto's own messages, and the one that says it is ours.
std::string WithoutExtension(const std::string& trace) {
  perfetto::protos::Trace parsed;
  EXPECT_TRUE(parsed.ParseFromString(trace));
  for (auto& packet : *parsed.mutable_packet()) {
    if (!packet.GetExtension(trace::ptrace_prof).has_header()) {
      packet.ClearExtension(trace::ptrace_prof);
    }
  }
  return parsed.SerializeAsString();
}

// Functions, lines and counts; paths as the code objects say them are in the extension.
std::string WithoutPaths(const std::string& collapsed) {
  return std::regex_replace(collapsed, std::regex(R"( \([^;()]*?(:\d+)?\)(?=[; ]))"), "$1");
}

TEST(ExtensionTest, StacksAndCountsNeedNoneOfIt) {
  const std::string bare = WithoutExtension(SampleTrace());
  ASSERT_LT(bare.size(), SampleTrace().size());
  const Exported whole = Export(SampleTrace(), ExportFormat::kCollapsed);
  const Exported stripped = Export(bare, ExportFormat::kCollapsed);
  ASSERT_TRUE(stripped.result.has_value()) << stripped.result.error().message;
  EXPECT_EQ(WithoutPaths(stripped.bytes), WithoutPaths(whole.bytes));
  EXPECT_NE(WithoutPaths(whole.bytes).find("walk:7;walk:7 10"), std::string::npos);
}

TEST(ExtensionTest, EveryFormatOpensWithoutIt) {
  const std::string bare = WithoutExtension(SampleTrace());
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    const Exported exported = Export(bare, info.format);
    ASSERT_TRUE(exported.result.has_value()) << info.name << ": " << exported.result.error().message;
    EXPECT_EQ(exported.result.value().samples, 219) << info.name;
    EXPECT_EQ(Essence(info.format, exported.bytes).find("Linear.forward") != std::string::npos, ShowsStacks(info))
        << info.name;
  }
}

}  // namespace
}  // namespace ptrace_prof
