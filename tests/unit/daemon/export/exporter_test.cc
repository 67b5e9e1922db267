// ExportTrace as a whole: formats by name, filters, truncated and foreign traces, and outputs that cannot be written.
#include "daemon/export/exporter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "attach/base/clean_text.h"
#include "attach/base/unique_fd.h"
#include "tests/unit/daemon/export/exporting.h"
#include "tests/unit/daemon/export/sample_trace.h"

namespace ptrace_prof {
namespace {

TEST(ChooseFormatTest, GoesByTheLongestExtensionUnlessNamed) {
  const struct {
    const char* name;
    const char* path;
    ExportFormat format;
  } kCases[] = {
      {"", "a.html", ExportFormat::kHtml},
      {"", "a.svg", ExportFormat::kSvg},
      {"", "a.json", ExportFormat::kChrome},
      {"", "a.speedscope.json", ExportFormat::kSpeedscope},
      {"", "a.collapsed", ExportFormat::kCollapsed},
      {"", "dir.svg/a.folded", ExportFormat::kCollapsed},
      {"", "a.pb.gz", ExportFormat::kPprof},
      {"", "a.pprof", ExportFormat::kPprof},
      {"", "a.txt", ExportFormat::kText},
      {"", "a.perfetto-trace", ExportFormat::kPerfetto},
      {"", "a.pftrace", ExportFormat::kPerfetto},
      {"", "a.json.gz", ExportFormat::kChrome},
      {"", "a.speedscope.json.gz", ExportFormat::kSpeedscope},
      {"", "a.pftrace.gz", ExportFormat::kPerfetto},
      {"", "a.pb.gz.gz", ExportFormat::kPprof},
      {"text", "a.html", ExportFormat::kText},
      {"chrome", "a.gz", ExportFormat::kChrome},
  };
  for (const auto& test : kCases) {
    const auto format = ChooseFormat(test.name, test.path);
    ASSERT_TRUE(format.has_value()) << test.path;
    EXPECT_EQ(format.value(), test.format) << test.path;
  }
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    EXPECT_EQ(InfoOf(info.format).name, info.name);
  }
}

TEST(ExportMetadataTest, IsShownWhereFactsAre) {
  ExportOptions options;
  options.metadata = {"run=base <1>", "team=vision"};
  const Exported json = Export(SampleTrace(), ExportFormat::kChrome, options);
  EXPECT_NE(json.bytes.find(R"("run":"base \u003c1>","team":"vision")"), std::string::npos);
  const Exported text = Export(SampleTrace(), ExportFormat::kText, options);
  EXPECT_NE(text.bytes.find("base <1>"), std::string::npos) << text.bytes.substr(0, 500);
  const Exported page = Export(SampleTrace(), ExportFormat::kHtml, options);
  EXPECT_NE(page.bytes.find("meta run"), std::string::npos);
  options.metadata = {"traceEvents=1"};
  const Exported refused = Export(SampleTrace(), ExportFormat::kChrome, options);
  ASSERT_TRUE(refused.result.has_error());
  EXPECT_EQ(refused.result.error().message, "traceEvents is a member that exports write themselves");
  options.metadata = {"a=1"};
  EXPECT_TRUE(Export(SampleTrace(), ExportFormat::kPerfetto, options).result.has_error());
}

TEST(ChooseFormatTest, UnknownOnesListWhatThereIs) {
  for (const auto& [name, path] : {std::pair("", "a.exe"), std::pair("pdf", "a.html"), std::pair("", "a.gz"),
                                   std::pair("", "a.exe.gz"), std::pair("", "a.gz.gz")}) {
    const auto format = ChooseFormat(name, path);
    ASSERT_TRUE(format.has_error());
    EXPECT_EQ(format.error().code, Code::kInvalidArgument);
    EXPECT_NE(format.error().remedy.find("speedscope"), std::string::npos);
  }
}

TEST(ExportTest, FiltersThreadsByNameAndIdAndProcesses) {
  const auto samples = [](const ExportOptions& options) {
    const Exported exported = Export(SampleTrace(), ExportFormat::kCollapsed, options);
    EXPECT_TRUE(exported.result.has_value());
    EXPECT_EQ(exported.result.value().samples + exported.result.value().filtered, 219);
    return exported.result.value().samples;
  };
  EXPECT_EQ(samples({.threads = {"loader"}}), 12);
  EXPECT_EQ(samples({.threads = {"4001", "4100"}}), 19);
  EXPECT_EQ(samples({.processes = {Pid(4100)}}), 7);
  EXPECT_EQ(samples({.no_idle = true}), 219 - 28);
  EXPECT_EQ(samples({.threads = {"nobody"}}), 0);
}

TEST(ExportTest, APerfettoCopyRefusesFilters) {
  const Exported exported = Export(SampleTrace(), ExportFormat::kPerfetto, {.threads = {"loader"}});
  ASSERT_TRUE(exported.result.has_error());
  EXPECT_EQ(exported.result.error().code, Code::kInvalidArgument);
}

TEST(ExportTest, OpensATraceCutAnywhere) {
  const std::string trace = SampleTrace();
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    uint64_t before = 0;
    for (size_t size = 0; size < trace.size(); size += 97) {
      const Exported exported = Export(trace.substr(0, size), info.format);
      ASSERT_TRUE(exported.result.has_value())
          << info.name << " at " << size << ": " << exported.result.error().message;
      EXPECT_TRUE(exported.result.value().cut) << info.name << " at " << size;
      EXPECT_GE(exported.result.value().samples, before) << info.name << " at " << size;
      before = exported.result.value().samples;
    }
    EXPECT_GT(before, 0) << info.name;
  }
}

TEST(ExportTest, RefusesWhatIsNoTraceAndLeavesNothing) {
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    const ScratchFolder folder;
    ExportOptions options{.format = info.format};
    const auto result = ExportTo(std::string(1000, '\xff'), options, folder.PathOf("out"));
    ASSERT_TRUE(result.has_error()) << info.name;
    EXPECT_EQ(result.error().code, Code::kDataLoss) << info.name;
    EXPECT_EQ(folder.FileCount(), 0) << info.name;
  }
}

TEST(ExportTest, HostileNamesComeOutClean) {
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    if (info.format == ExportFormat::kPerfetto || !ShowsStacks(info)) {
      continue;  // a copy
    }
    const Exported exported = Export(HostileTrace(), info.format);
    ASSERT_TRUE(exported.result.has_value()) << info.name;
    const std::string bytes = Essence(info.format, exported.bytes);
    for (const char* hidden : {"\x1b[", "\u202e", "\u2066", "\u2028", "\u200f", "\u061c", "\ufeff", "\u009b"}) {
      EXPECT_EQ(bytes.find(hidden), std::string::npos) << info.name << ": " << CleanText(hidden);
    }
    EXPECT_NE(bytes.find("\\u202ereversed"), std::string::npos) << info.name << ": is written out";
    EXPECT_EQ(exported.bytes.find("\\u001b"), std::string::npos) << info.name << ": no viewer gets it of JSON";
    if (info.format == ExportFormat::kHtml || info.format == ExportFormat::kSvg) {
      EXPECT_EQ(bytes.find("<img"), std::string::npos) << info.name;
      EXPECT_EQ(exported.bytes.find("<script>"), std::string::npos) << info.name;
    }
  }
}

TEST(ExportTest, LimitsChromeEventsAndSaysSo) {
  const Exported exported = Export(LongTrace(120), ExportFormat::kChrome);
  ASSERT_TRUE(exported.result.has_value());
  ASSERT_EQ(exported.result.value().notes.size(), 1);
  EXPECT_NE(exported.bytes.find("ptrace-prof: Only the first"), std::string::npos);
  size_t events = 0;
  for (size_t at = 0; (at = exported.bytes.find("{\"ph\":", at)) != std::string::npos; ++at) {
    ++events;
  }
  EXPECT_LE(events, 2'000'010);
  EXPECT_GT(events, 1'900'000);
}

TEST(ExportTest, ReportsTheRankOfWhatWasRecordedToToolsThatSearchForIt) {
  const auto chrome = [](const std::vector<int>& ranks) {
    return Export(TraceOfRanks(ranks), ExportFormat::kChrome).bytes;
  };
  constexpr std::string_view kThird = R"("distributedInfo":{"rank": 3, "world_size": 4})";
  EXPECT_NE(chrome({3}).find(kThird), std::string::npos);
  EXPECT_NE(chrome({-1, 3, 3}).find(kThird), std::string::npos);
  EXPECT_EQ(chrome({-1}).find("distributedInfo"), std::string::npos);
  EXPECT_EQ(chrome({3, 2}).find("distributedInfo"), std::string::npos);
}

TEST(OutputTest, ReplacesAFileOnlyWhenWhole) {
  const ScratchFolder folder;
  const std::string path = folder.PathOf("report.txt");
  std::ofstream(path) << "the old one";
  ASSERT_TRUE(ExportTo(std::string(100, 'x'), {}, path).has_error());
  EXPECT_EQ(ReadFile(path), "the old one");
  ASSERT_TRUE(ExportTo(SampleTrace(), {}, path).has_value());
  EXPECT_NE(ReadFile(path).find("Linear.forward"), std::string::npos);
  EXPECT_EQ(folder.FileCount(), 1);
}

TEST(OutputTest, IsCompressedWhereItsNameSaysSo) {
  const ScratchFolder folder;
  const std::string trace = LongTrace(2);
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    const std::string path = folder.PathOf(std::string("run") + std::string(info.extensions.back()) + ".gz");
    const auto result = ExportTo(trace, {}, path);
    ASSERT_TRUE(result.has_value()) << info.name << ": " << result.error().message;
    EXPECT_EQ(result.value().format, info.format);
    const std::string bytes = ReadFile(path);
    EXPECT_EQ(result.value().bytes, bytes.size()) << info.name;
    const std::string plain = Export(trace, info.format).bytes;
    if (info.format == ExportFormat::kMemoryTimeline) {
      EXPECT_EQ(Decompress(bytes), "[]") << "of events, by its name";
      continue;
    }
    if (info.format == ExportFormat::kPprof) {
      EXPECT_EQ(bytes, plain) << "compressed once";
    } else {
      EXPECT_EQ(Essence(info.format, Decompress(bytes)), Essence(info.format, plain)) << info.name;
      EXPECT_LT(bytes.size(), plain.size()) << info.name;
    }
  }
  ASSERT_TRUE(ExportTo(trace, {.format = ExportFormat::kChrome}, folder.PathOf("run.gz")).has_value());
  EXPECT_EQ(Decompress(ReadFile(folder.PathOf("run.gz"))), Export(trace, ExportFormat::kChrome).bytes);
}

TEST(OutputTest, WritesThroughASymbolicLink) {
  const ScratchFolder folder;
  std::ofstream(folder.PathOf("real.txt")) << "old";
  std::filesystem::create_symlink("real.txt", folder.PathOf("link.txt"));
  ASSERT_TRUE(ExportTo(SampleTrace(), {}, folder.PathOf("link.txt")).has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.PathOf("link.txt")));
  EXPECT_GT(ReadFile(folder.PathOf("real.txt")).size(), 100);
}

TEST(OutputTest, AFullDeviceIsAClearError) {
  const auto result = ExportTo(SampleTrace(), {.format = ExportFormat::kText}, "/dev/full");
  ASSERT_TRUE(result.has_error());
  EXPECT_EQ(result.error().code, Code::kResourceExhausted);
  EXPECT_NE(result.error().message.find("/dev/full"), std::string::npos);
  EXPECT_FALSE(result.error().remedy.empty());
}

TEST(OutputTest, AMissingFolderIsAClearError) {
  const auto result = ExportTo(SampleTrace(), {}, "/nonexistent/folder/a.txt");
  ASSERT_TRUE(result.has_error());
  EXPECT_NE(result.error().message.find("/nonexistent/folder/a.txt"), std::string::npos);
}

// While this lives, files cannot grow beyond `bytes`, as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    ::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

TEST(OutputTest, AWriteThatFailsHalfwayLeavesNothing) {
  const ScratchFolder folder;
  std::ofstream(folder.PathOf("trace")) << LongTrace(5);
  for (const FormatInfo& info : FormatsOfAnyTrace()) {
    const auto export_to = [&](const std::string& path) {
      const UniqueFd input(::open(folder.PathOf("trace").c_str(), O_RDONLY | O_CLOEXEC));
      return ExportTrace(input.get(), {.format = info.format}, path);
    };
    const ScratchFolder place;
    const auto whole = export_to(place.PathOf("whole"));
    ASSERT_TRUE(whole.has_value()) << info.name;
    const FileSizeLimit limit(whole.value().bytes / 2);
    const auto half = export_to(place.PathOf("half"));
    ASSERT_TRUE(half.has_error()) << info.name;
    EXPECT_NE(half.error().message.find(place.path()), std::string::npos) << half.error().message;
    EXPECT_FALSE(half.error().remedy.empty()) << info.name;
    EXPECT_EQ(place.FileCount(), 1) << info.name;
  }
}

// A file may contain the traces of several captures one after the other.
TEST(ExportTest, AHeaderOfSeveralCapturesHoldsWhatIsTrueOfAllOfThem) {
  const std::string both = Export(SampleTrace() + LongTrace(2), ExportFormat::kText).bytes;
  const std::string header = both.substr(0, both.find("All threads"));
  for (const char* fact :
       {"captures: 2 ", "processes: 2 ", "samples: 2,219 ", "total duration: 2.40 s", "mean rate: 500 Hz",
        "brief stops: 2 ", "more than 200 us late: 6 ", "idle samples left out: 240 ", "mean overhead: 0.50 %"}) {
    EXPECT_NE(header.find(fact), std::string::npos) << fact << " in " << header;
  }
}

TEST(ExportTest, ASpeedscopeProfileBeginsWhenItsThreadWasFirstSeen) {
  const std::string calls = Export(CallTrace(), ExportFormat::kSpeedscope).bytes;
  EXPECT_NE(calls.find(R"("startValue":500,"endValue":5500)"), std::string::npos) << calls;
  const std::string samples = Export(SampleTrace(), ExportFormat::kSpeedscope).bytes;
  EXPECT_NE(samples.find(R"("samples":[[7],[],[7]],"weights":[0.01,0.15,0.014],"startValue":0.05,"endValue":0.224)"),
            std::string::npos)
      << samples;
}

}  // namespace
}  // namespace ptrace_prof
