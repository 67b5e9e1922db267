// From CUPTI's records of markers, as bytes, to the ranges of a trace.
#include "daemon/collector/gpu/gpu_annotations.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "daemon/collector/gpu/gpu_decoder.h"
#include "daemon/trace/read/trace_reader.h"
#include "daemon/trace/write/memory_sink.h"

namespace ptrace_prof {
namespace {

constexpr size_t kSize = 56;
constexpr uint32_t kMarkFlag = 1;
constexpr uint32_t kBeginFlag = 2;
constexpr uint32_t kEndFlag = 4;

// Addresses of names are addresses in this process.
class OwnMemory : public RemoteMemory {
 public:
  ReadStatus Read(RemoteAddr address, void* to, size_t size) override {
    std::memcpy(to, reinterpret_cast<const void*>(address.value), size);
    return ReadStatus::kOk;
  }
  ReadStatus ReadBatch(std::span<const ReadRequest>, size_t*) override { return ReadStatus::kFault; }
};

struct AnnotationSites : GpuCallSites {
  GpuCallSite Of(const GpuCallPlace&) override { return {}; }
  ThreadHandle ThreadOf(uint32_t thread) override {
    asked.push_back(thread);
    return handle;
  }
  ThreadHandle handle;
  std::vector<uint32_t> asked;
};

using What = std::tuple<GpuAnnotationKind, int64_t, int64_t, std::string, std::string>;

struct SeenAnnotations : TraceVisitor {
  explicit SeenAnnotations(Nanos from) : base(from) {}
  void OnGpuAnnotation(TrackId, const GpuAnnotation& one) override {
    what.emplace_back(one.kind, (one.begin - base).value, (one.end - base).value, one.name, one.domain);
  }
  Nanos base;
  std::vector<What> what;
};

alignas(4096) char marker_names[4096] = "first\0second\0domain";
constexpr size_t kFirstName = 0;
constexpr size_t kSecondName = 6;
constexpr size_t kDomainName = 13;

struct Said {
  Said() : texts(memory), annotations(writer, texts, clock, sites) {
    clock.SetIdentity();
    writer.AddProcess({.pid = Pid(7)});
    sites.handle = writer.AddThread({.pid = Pid(7), .tid = Tid(11)});
    std::array<uint16_t, kGpuRecordKinds> strides{};
    strides[12] = kSize;
    decoder.emplace(strides);
  }
  static CaptureTask Request() {
    CaptureTask request;
    SetTarget(Pid(7), &request);
    return request;
  }
  static uint64_t NameAt(size_t at) { return reinterpret_cast<uint64_t>(marker_names + at); }
  void Report(uint32_t flags, uint32_t number, int64_t when, uint64_t name = 0, uint64_t domain = 0, uint32_t of = 2) {
    std::array<uint8_t, kSize> record{};
    const auto put = [&](size_t at, auto value) { std::memcpy(record.data() + at, &value, sizeof value); };
    put(0, uint32_t{12});
    put(4, flags);
    put(8, when == 0 ? uint64_t{0} : static_cast<uint64_t>(base.value + when));
    put(16, number);
    put(20, of);
    put(24, uint32_t{7});
    put(28, uint32_t{11});
    put(40, name);
    put(48, domain);
    decoder->Decode(record, [&](const GpuRecord& one) { annotations.Take(one); });
  }
  std::vector<What> Finish(int64_t now = 1000, uint64_t lacks = 0) {
    annotations.Finish(base + Nanos(now), lacks);
    annotations.CountInto(counts);
    EXPECT_TRUE(writer.End(base, Accounting{}, EndInfo{}).has_value());
    SeenAnnotations seen(base);
    TraceReader reader(seen);
    EXPECT_TRUE(reader.Feed(std::as_bytes(std::span(sink.bytes()))).has_value());
    EXPECT_EQ(reader.skipped(), 0);
    return seen.what;
  }

  const Nanos base = MonotonicNow();
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer{sink, stacks, Request()};
  OwnMemory memory;
  GpuNames texts;
  GpuClock clock;
  AnnotationSites sites;
  std::optional<GpuDecoder> decoder;
  GpuAnnotations annotations;
  GpuAccounting counts;
};

using Kind = GpuAnnotationKind;

TEST(GpuAnnotations, ARangeIsItsBeginAndItsEndWhicheverComesFirst) {
  Said said;
  said.Report(kBeginFlag, 1, 100, Said::NameAt(kFirstName), Said::NameAt(kDomainName));
  said.Report(kEndFlag, 2, 300);
  said.annotations.Settle();
  said.Report(kEndFlag, 1, 400);
  said.Report(kBeginFlag, 2, 200, Said::NameAt(kSecondName));
  said.Report(kMarkFlag, 3, 250, Said::NameAt(kFirstName));
  EXPECT_EQ(said.Finish(), (std::vector<What>{{Kind::kMark, 250, 250, "first", ""},
                                              {Kind::kRange, 200, 300, "second", ""},
                                              {Kind::kRange, 100, 400, "first", "domain"}}));
  EXPECT_EQ(said.counts.annotations, 3);
  EXPECT_EQ(said.counts.annotations_without_begin + said.counts.annotations_without_end + said.counts.annotations_lost,
            0);
  EXPECT_EQ(said.sites.asked, (std::vector<uint32_t>{11, 11, 11}));
}

TEST(GpuAnnotations, HalvesAreCounted) {
  Said said;
  said.Report(kEndFlag, 1, 100);
  said.Report(kBeginFlag, 2, 200, Said::NameAt(kSecondName));
  said.Report(kBeginFlag, 3, 500, Said::NameAt(kFirstName));
  said.Report(kEndFlag, 3, 400);  // before the begin, so it belongs to another range
  EXPECT_EQ(said.Finish(), (std::vector<What>{{Kind::kOpenRange, 500, 1000, "first", ""},
                                              {Kind::kOpenRange, 200, 1000, "second", ""}}));
  EXPECT_EQ(said.counts.annotations_without_begin, 2);
  EXPECT_EQ(said.counts.annotations_without_end, 2);
}

TEST(GpuAnnotations, WhatMeansNothingIsCounted) {
  Said said;
  said.clock.Saw(said.base, said.base);
  said.Report(kBeginFlag, 1, 0, Said::NameAt(kFirstName));                 // no time
  said.Report(kMarkFlag, 2, 100, Said::NameAt(kFirstName), 0, 4);          // of no thread
  said.Report(0, 3, 100, Said::NameAt(kFirstName));                        // neither begin nor end
  said.Report(kMarkFlag, 4, 3'600'000'000'000, Said::NameAt(kFirstName));  // an hour in the future
  said.Report(kBeginFlag, 5, 100, Said::NameAt(kFirstName));
  said.Report(kBeginFlag, 5, 200, Said::NameAt(kFirstName));  // the same number again
  said.Report(kEndFlag, 5, 300);
  EXPECT_EQ(said.Finish(), (std::vector<What>{{Kind::kRange, 200, 300, "first", ""}}));
  EXPECT_EQ(said.counts.annotations_lost, 5);
}

TEST(GpuAnnotations, WhatEndedBeforeTheCaptureIsNone) {
  Said said;
  said.annotations.Open(said.base + Nanos(300));
  said.Report(kMarkFlag, 1, 100, Said::NameAt(kFirstName));
  said.Report(kBeginFlag, 2, 100, Said::NameAt(kFirstName));
  said.Report(kEndFlag, 2, 200);
  said.Report(kBeginFlag, 3, 100, Said::NameAt(kSecondName));
  said.Report(kEndFlag, 3, 400);
  EXPECT_EQ(said.Finish(), (std::vector<What>{{Kind::kRange, 100, 400, "second", ""}}));
}

TEST(GpuAnnotations, WhatGoesOnIsCutWhereTheCaptureIsOver) {
  Said said;
  said.Report(kBeginFlag, 1, 100, Said::NameAt(kFirstName));
  said.Report(kBeginFlag, 2, 200, Said::NameAt(kSecondName));
  said.annotations.Close(said.base + Nanos(300));
  said.annotations.Close(said.base + Nanos(900));  // closed already
  said.Report(kEndFlag, 2, 400);
  said.Report(kBeginFlag, 3, 350, Said::NameAt(kFirstName));
  said.Report(kMarkFlag, 4, 350, Said::NameAt(kFirstName));
  EXPECT_EQ(said.Finish(),
            (std::vector<What>{{Kind::kOpenRange, 100, 300, "first", ""}, {Kind::kRange, 200, 400, "second", ""}}));
  EXPECT_EQ(said.counts.annotations_without_end, 1);
  EXPECT_EQ(said.counts.annotations_without_begin + said.counts.annotations_lost, 0);
}

TEST(GpuAnnotations, WhereRecordsAreMissingNothingIsSaidToGoOn) {
  Said said;
  said.Report(kBeginFlag, 1, 100, Said::NameAt(kFirstName));
  said.Report(kBeginFlag, 2, 200, Said::NameAt(kSecondName));
  said.Report(kEndFlag, 2, 400);
  EXPECT_EQ(said.Finish(1000, 1), (std::vector<What>{{Kind::kRange, 200, 400, "second", ""}}));
  EXPECT_EQ(said.counts.annotations_without_end, 0);
  EXPECT_EQ(said.counts.annotations_lost, 1);
}

TEST(GpuAnnotations, WhatIsOfTheProcessIsOfItsMainThread) {
  Said said;
  said.Report(kMarkFlag, 1, 100, Said::NameAt(kFirstName), 0, 1);
  EXPECT_EQ(said.Finish().size(), 1);
  EXPECT_EQ(said.sites.asked, std::vector<uint32_t>{7});
}

// A target that makes up ranges uses only a bounded amount of memory.
TEST(GpuAnnotations, MillionsOfHalvesAreBounded) {
  Said said;
  constexpr uint32_t kMany = 200'000;
  for (uint32_t i = 0; i < kMany; ++i) {
    said.Report(kBeginFlag, i, 100, Said::NameAt(kFirstName));
    said.Report(kEndFlag, kMany + i, 100);
  }
  const size_t written = said.Finish().size();
  EXPECT_LT(written, kMany / 2);
  EXPECT_EQ(written + said.counts.annotations_lost, kMany);
  EXPECT_EQ(said.counts.annotations_without_begin, kMany);
}

}  // namespace
}  // namespace ptrace_prof
