#include "client/cli/exit_code.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace ptrace_prof {
namespace {

TEST(ExitCode, AreDistinct) {
  std::set<int> seen;
  for (const ExitCodeRow& row : ExitCodes()) {
    EXPECT_TRUE(seen.insert(static_cast<int>(row.code)).second) << row.meaning;
    EXPECT_NE(row.meaning, "");
  }
}

TEST(ExitCode, ReportsCausesApart) {
  EXPECT_EQ(ExitCodeOf(Code::kOk), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(Code::kNotFound), ExitCode::kNoSuchProcess);
  EXPECT_EQ(ExitCodeOf(Code::kPermissionDenied), ExitCode::kPermission);
  EXPECT_EQ(ExitCodeOf(Code::kUnauthenticated), ExitCode::kPermission);
  EXPECT_EQ(ExitCodeOf(Code::kFailedPrecondition), ExitCode::kNotPython);
  EXPECT_EQ(ExitCodeOf(Code::kUnimplemented), ExitCode::kNotPython);
  EXPECT_EQ(ExitCodeOf(Code::kGone), ExitCode::kGone);
  EXPECT_EQ(ExitCodeOf(Code::kInvalidArgument), ExitCode::kUsage);
  EXPECT_EQ(ExitCodeOf(Code::kInternal), ExitCode::kInternal);
  EXPECT_EQ(ExitCodeOf(Code::kUnavailable), ExitCode::kNotNow);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kBeingTraced, "")), ExitCode::kNotNow);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kQuota, "")), ExitCode::kNotNow);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kTargetIdle, "")), ExitCode::kNotNow);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kServerUnreachable, "")), ExitCode::kNoDaemon);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kTracerLost, "")), ExitCode::kNotNow);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kPythonDamaged, "")), ExitCode::kNotPython);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kDiskFull, "")), ExitCode::kOutput);
  EXPECT_EQ(ExitCodeOf(Because(Reason::kProcessNotFound, "")), ExitCode::kNoSuchProcess);
}

TEST(ExitCode, DocumentationRepeatsTheTable) {
  std::ifstream file(PP_SOURCE_DIR "/docs/cli.md");
  ASSERT_TRUE(file.is_open());
  std::stringstream text;
  text << file.rdbuf();
  for (const ExitCodeRow& row : ExitCodes()) {
    const std::string line =
        "| " + std::to_string(static_cast<int>(row.code)) + " | " + std::string(row.meaning) + " |";
    EXPECT_NE(text.str().find(line), std::string::npos) << "docs/cli.md lacks: " << line;
  }
}

}  // namespace
}  // namespace ptrace_prof
