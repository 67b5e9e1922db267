// CallReplayer and extended records, which use the places of the next records: whatever those hold, calls stay intact.
#include "tests/unit/daemon/collector/calls/call_replayer_fixture.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kUnknown = 0xffff;

class ExtendedTest : public CallReplayerTest {
 protected:
  void Add(uint64_t tag, uint64_t value) { records_.push_back({PP_WHEN_TAG(++when_, tag), value}); }
  // Its payload looks like the ends of all calls.
  void AddExtended(uint32_t units, uint32_t there) {
    Add(PP_TAG_EXTENDED, PP_EXTENDED(kUnknown, units, 0));
    for (uint32_t i = 0; i < there; ++i) {
      records_.push_back({PP_WHEN_TAG(when_, PP_TAG_RETURN), 'f'});
    }
  }

  std::vector<pp_record> records_;
  uint64_t when_ = 0;
};

TEST_F(ExtendedTest, WhatIsNotKnownIsPassedOverAndCountedHoweverItIsRead) {
  Add(PP_TAG_START, 'f');
  AddExtended(3, 3);
  Add(PP_TAG_C_CALL, 'n');
  AddExtended(0, 0);
  Add(PP_TAG_CODE, 'm');  // belongs to the call
  AddExtended(PP_MAX_UNITS, PP_MAX_UNITS);
  Add(PP_TAG_C_RETURN, 'n');
  Add(PP_TAG_RETURN, 'f');
  const std::string whole = ReplayRecords(records_);
  EXPECT_EQ(context.counts.unknown, 3);
  EXPECT_EQ(context.counts.strange, 0);
  EXPECT_EQ(context.counts.events, 4);
  for (size_t piece = 1; piece < records_.size(); ++piece) {
    EXPECT_EQ(ReplayRecords(records_, {}, piece), whole) << piece;
  }
}

TEST_F(ExtendedTest, ALengthThatCannotBeIsNone) {
  Add(PP_TAG_START, 'f');
  Add(PP_TAG_EXTENDED, PP_EXTENDED(kUnknown, PP_MAX_UNITS + 1, 0));
  Add(PP_TAG_RETURN, 'f');
  EXPECT_EQ(ReplayRecords(records_), "1(f 3)");
  EXPECT_EQ(context.counts.strange, 1);
  EXPECT_EQ(context.counts.unknown, 0);
}

TEST_F(ExtendedTest, WhatIsMissingAtTheEndOfAnEventIsNotWaitedFor) {
  Lines lines(stacks);
  CallReplayer replayer(context, lines, Nanos(0));
  AddExtended(PP_MAX_UNITS, 2);
  replayer.Feed(records_, TickMap::Monotonic(), Nanos(1'000));
  replayer.EndOfEvent();
  EXPECT_EQ(context.counts.strange, 1);
  records_.clear();
  Add(PP_TAG_START, 'f');
  Add(PP_TAG_RETURN, 'f');
  replayer.Feed(records_, TickMap::Monotonic(), Nanos(1'000));
  replayer.Finish(Nanos(1'000));
  EXPECT_EQ(lines.text, "2(f 3)");
  EXPECT_EQ(context.counts.unknown, 0);
}

}  // namespace
}  // namespace ptrace_prof
