#include "daemon/collector/sandbox/stop_line.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

namespace ptrace_prof {
namespace {

struct Ends {
  UniqueFd ours;
  UniqueFd theirs;
};

Ends MakeEnds() {
  int fds[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

TEST(StopLine, StopsWhenTheOtherEndCloses) {
  Ends ends = MakeEnds();
  const StopLine line = StopLine::Watch(std::move(ends.theirs)).value();
  EXPECT_FALSE(line.stop().load());
  ends.ours.reset();  // the kernel raises SIGIO here, in this thread
  EXPECT_TRUE(line.stop().load());
}

TEST(StopLine, StopsWhenTheOtherEndWasClosedBefore) {
  Ends ends = MakeEnds();
  ends.ours.reset();
  const StopLine line = StopLine::Watch(std::move(ends.theirs)).value();
  EXPECT_TRUE(line.stop().load());
}

TEST(StopLine, StopsOnSigterm) {
  Ends ends = MakeEnds();
  const StopLine line = StopLine::Watch(std::move(ends.theirs)).value();
  EXPECT_FALSE(line.stop().load());
  ::raise(SIGTERM);
  EXPECT_TRUE(line.stop().load());
}

TEST(StopLine, ReportsHowManyShareStops) {
  Ends ends = MakeEnds();
  ReportSharers(ends.ours, 2);
  const StopLine line = StopLine::Watch(std::move(ends.theirs)).value();
  EXPECT_EQ(line.sharers().load(), 2u);
  ReportSharers(ends.ours, 7);
  EXPECT_EQ(line.sharers().load(), 7u);
  EXPECT_FALSE(line.stop().load());
  ReportSharers(ends.ours, 1);
  ends.ours.reset();
  EXPECT_EQ(line.sharers().load(), 1u);
  EXPECT_TRUE(line.stop().load());
  ReportSharers(ends.ours, 3);  // closed: no receiver
}

}  // namespace
}  // namespace ptrace_prof
