#include "daemon/launcher/arrivals.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "tests/unit/attach_child.h"

namespace ptrace_prof {
namespace {

constexpr uid_t kAnn = 54321, kBob = 54322;

class ArrivalsTest : public ::testing::Test {
 protected:
  ArrivalsTest() {
    ::strcpy(folder_, "/tmp/pp-arrivals-XXXXXX");
    EXPECT_NE(::mkdtemp(folder_), nullptr);
    std::filesystem::permissions(folder_, std::filesystem::perms::all);
    ::strcpy(address_.sun_path, (std::string(folder_) + "/s").c_str());
    listening_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    EXPECT_EQ(::bind(listening_.get(), reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
    std::filesystem::permissions(address_.sun_path, std::filesystem::perms::all);
    EXPECT_EQ(::listen(listening_.get(), 4096), 0);
  }
  ~ArrivalsTest() override { std::filesystem::remove_all(folder_); }

  UniqueFd Connect() const {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    return fd;
  }

  // Makes `count` connections as that user, and keeps them open.
  Child Knock(uid_t uid, int count) const {
    return Child([this, uid, count](auto say) {
      std::vector<UniqueFd> held;
      const bool is_user = ::setresuid(uid, uid, uid) == 0;
      for (int i = 0; i < count; ++i) {
        held.push_back(Connect());
      }
      say(is_user);
      ::pause();
    });
  }

  void TakeAll() {
    for (int i = 0; i < 16; ++i) {
      arrivals_.Take(listening_.get(), Nanos());
    }
  }

  // -1: there is none.
  int64_t NextUser(Nanos now) {
    const UniqueFd connection = arrivals_.Next(now);
    ucred who{};
    socklen_t size = sizeof who;
    const bool is_known =
        connection.is_open() && ::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0;
    return is_known ? int64_t{who.uid} : int64_t{-1};
  }

  char folder_[32];
  sockaddr_un address_{AF_UNIX, {}};
  UniqueFd listening_;
  Arrivals arrivals_;
};

TEST_F(ArrivalsTest, WhoHasLeftIsDropped) {
  { const UniqueFd before = Connect(); }
  UniqueFd later = Connect();
  TakeAll();
  later.reset();
  EXPECT_FALSE(arrivals_.Next(Nanos()).is_open());
  EXPECT_FALSE(arrivals_.NextTurn().has_value());
}

TEST_F(ArrivalsTest, UsersComeInTurnAndRootFirst) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "takes root, to be several users";
  }
  const Child ann = Knock(kAnn, 3);
  const Child bob = Knock(kBob, 2);
  ASSERT_EQ(ann.Hear() + bob.Hear(), 2u);
  const UniqueFd root = Connect();
  TakeAll();
  std::vector<int64_t> order;
  for (int64_t user = NextUser(Nanos()); user >= 0; user = NextUser(Nanos())) {
    order.push_back(user);
  }
  EXPECT_EQ(order, (std::vector<int64_t>{0, kAnn, kBob, kAnn, kBob, kAnn}));
}

TEST_F(ArrivalsTest, WhoBeginsManyWaitsBetweenThem) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "takes root, to be another user";
  }
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  const int most = static_cast<int>(std::min<rlim_t>(1024, limit.rlim_cur / 4));
  const Child ann = Knock(kAnn, most + 50);
  ASSERT_EQ(ann.Hear(), 1u);
  TakeAll();
  const auto let_in = [this](Nanos now) {
    int count = 0;
    while (NextUser(now) >= 0) {
      ++count;
    }
    return count;
  };
  const Nanos now = Nanos::FromSeconds(100);
  const int at_once = let_in(now);
  EXPECT_GT(at_once, 16);
  EXPECT_LT(at_once, 64);
  ASSERT_TRUE(arrivals_.NextTurn().has_value());
  EXPECT_EQ(*arrivals_.NextTurn(), now + Nanos::FromMillis(10));
  EXPECT_EQ(let_in(now + Nanos::FromMillis(50)), 5);
  int rest = 0;
  for (int later = 60; later < 20'000; later += 10) {
    rest += let_in(now + Nanos::FromMillis(later));
  }
  EXPECT_EQ(at_once + 5 + rest, most) << "of more there is no memory";
  EXPECT_EQ(let_in(now + Nanos::FromSeconds(100)), 0);
}

TEST_F(ArrivalsTest, RootIsNotHeldBack) {
  if (::getuid() != 0) {
    GTEST_SKIP() << "takes root";
  }
  std::vector<UniqueFd> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(Connect());
  }
  TakeAll();
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(NextUser(Nanos()), 0);
  }
}

}  // namespace
}  // namespace ptrace_prof
