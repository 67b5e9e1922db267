// Peers that are refused because of the kernel's facts about them, before anything else is checked.
#include "daemon/launcher/peer_examination.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "attach/proc/own_namespaces.h"
#include "daemon/launcher/launch_message.h"
#include "tests/unit/in_child.h"

namespace ptrace_prof {
namespace {

constexpr int kNotMade = 99;

// The verdict on a process that connects to itself after `become`. `asker`: what the process does to itself before it
// examines the connection.
int VerdictOn(const std::function<bool()>& become, const std::function<bool()>& asker = nullptr) {
  return InChild([&] {
    int ends[2];
    if (!become() || ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || (asker && !asker())) {
      return kNotMade;
    }
    const pid_t child = ::fork();
    if (child == 0) {
      ::_exit(static_cast<int>(ExaminePeer(ends[0]).verdict));
    }
    int status = -1;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : kNotMade;
  });
}

class PeerExamination : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "needs root, who can be anybody";
    }
  }
};

TEST_F(PeerExamination, KnowsWhoIsAsWeAre) {
  EXPECT_EQ(VerdictOn([] { return true; }), static_cast<int>(PeerVerdict::kKnown));
}

TEST_F(PeerExamination, RefusesWhoHasNoNumberInOurPidNamespace) {
  EXPECT_EQ(VerdictOn([] { return true; }, [] { return ::unshare(CLONE_NEWPID) == 0; }),
            static_cast<int>(PeerVerdict::kNoPid));
}

TEST_F(PeerExamination, RefusesTheUserThatStandsForThoseWhoHaveNone) {
  EXPECT_EQ(VerdictOn([] { return ::setresuid(OverflowUid().value, OverflowUid().value, OverflowUid().value) == 0; }),
            static_cast<int>(PeerVerdict::kNoUser));
}

TEST_F(PeerExamination, RefusesWhoIsInMoreGroupsThanAMessageHolds) {
  const auto join = [](size_t count) {
    return [count] {
      std::vector<gid_t> groups(count);
      for (size_t i = 0; i < count; ++i) {
        groups[i] = static_cast<gid_t>(1000 + i);
      }
      return ::setgroups(groups.size(), groups.data()) == 0;
    };
  };
  EXPECT_EQ(VerdictOn(join(kMaxLaunchGroups)), static_cast<int>(PeerVerdict::kKnown));
  EXPECT_EQ(VerdictOn(join(kMaxLaunchGroups + 1)), static_cast<int>(PeerVerdict::kTooMany));
}

}  // namespace
}  // namespace ptrace_prof
