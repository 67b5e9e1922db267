#include "daemon/collector/sandbox/rights.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "tests/unit/daemon/collector/sandbox/nobody.h"
#include "tests/unit/in_child.h"

namespace ptrace_prof {
namespace {

constexpr uint64_t kSysPtrace = 1 << 19;

uint64_t StatusField(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) {
      return std::stoull(line.substr(name.size() + 1), nullptr, 16);
    }
  }
  return ~0ULL;
}

bool HasNothing() { return StatusField("CapPrm") == 0 && StatusField("CapEff") == 0 && StatusField("NoNewPrivs") == 1; }

class RightsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "needs root";
    }
  }
};

TEST_F(RightsTest, RootBecomesTheOwnerWithoutCapabilities) {
  EXPECT_EQ(InChild([] {
              const auto kept = SurrenderRights({.uid = kNobody, .gid = kNobody}, [] { return 0; });
              uid_t real = 0, effective = 0, saved = 0;
              ::getresuid(&real, &effective, &saved);
              return kept.has_value() && kept.value() == RightsKept::kNone && real == kNobody && effective == kNobody &&
                     saved == kNobody && ::getgid() == kNobody && ::getgroups(0, nullptr) == 0 && HasNothing();
            }),
            1);
}

TEST_F(RightsTest, CannotGoBack) {
  EXPECT_EQ(InChild([] {
              const auto kept = SurrenderRights({.uid = kNobody, .gid = kNobody}, [] { return 0; });
              return kept.has_value() && ::setuid(0) != 0 && ::setresuid(0, 0, 0) != 0;
            }),
            1);
}

TEST_F(RightsTest, KeepsOneCapabilityWhereTheKernelWantsIt) {
  if ((StatusField("CapPrm") & kSysPtrace) == 0) {
    GTEST_SKIP() << "this root lacks CAP_SYS_PTRACE";
  }
  EXPECT_EQ(InChild([] {
              const auto probe = [] { return (StatusField("CapEff") & kSysPtrace) != 0 ? 0 : EPERM; };
              const auto kept = SurrenderRights({.uid = kNobody, .gid = kNobody}, probe);
              return kept.has_value() && kept.value() == RightsKept::kToPtrace && StatusField("CapPrm") == kSysPtrace &&
                     StatusField("CapEff") == kSysPtrace && ::getuid() == kNobody;
            }),
            1);
}

TEST(Rights, ARefusalIsARefusal) {
  EXPECT_EQ(InChild([] {
              const auto kept = SurrenderRights({.uid = ::getuid(), .gid = ::getgid()}, [] { return EPERM; });
              return kept.has_error() && kept.error().code == Code::kPermissionDenied;
            }),
            1);
}

TEST(Rights, OwnersStayWhoTheyAre) {
  EXPECT_EQ(InChild([] {
              const uid_t before = ::getuid();
              const auto kept = SurrenderRights({.uid = before, .gid = ::getgid()}, [] { return 0; });
              return kept.has_value() && ::getuid() == before && HasNothing();
            }),
            1);
}

}  // namespace
}  // namespace ptrace_prof
