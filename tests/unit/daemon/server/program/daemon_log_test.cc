#include "daemon/server/program/daemon_log.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

TEST(DaemonLog, ValuesCannotPretendToBeMoreThanOne) {
  EXPECT_EQ(QuoteValue("/run/p.sock"), "/run/p.sock");
  EXPECT_EQ(QuoteValue(""), "\"\"");
  EXPECT_EQ(QuoteValue("two words"), "\"two words\"");
  EXPECT_EQ(QuoteValue("a=b"), "\"a=b\"");
  EXPECT_EQ(QuoteValue("say \"x\\y\""), "\"say \\\"x\\\\y\\\"\"");
  EXPECT_EQ(QuoteValue("of a network\x94"), "\"of a network\\x94\"") << "broken UTF-8";
  EXPECT_EQ(QuoteValue("Müller"), "\"Müller\"");
  EXPECT_EQ(QuoteValue("line\nlevel=info\x1b[2J"), "\"line\\x0alevel=info\\x1b[2J\"");
}

}  // namespace
}  // namespace ptrace_prof
