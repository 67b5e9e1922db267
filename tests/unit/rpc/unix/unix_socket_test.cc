#include "rpc/unix/unix_socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "rpc/unix/peer_credentials.h"

namespace ptrace_prof {
namespace {

class UnixSocket : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(folder_), nullptr); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string Path(const char* name) const { return std::string(folder_) + "/" + name; }
  static mode_t Mode(const std::string& path) {
    struct stat there {};
    return ::lstat(path.c_str(), &there) == 0 ? there.st_mode & 07777 : 0;
  }

  char folder_[32] = "/tmp/pp-socket-XXXXXX";
};

TEST_F(UnixSocket, IsForItsOwnerOnlyInAFolderForItsOwnerOnly) {
  const auto listener = ListenOnUnixSocket(Path("made/s.sock"));
  ASSERT_TRUE(listener.has_value()) << listener.error().message;
  EXPECT_EQ(Mode(Path("made")), 0700u);
  EXPECT_EQ(Mode(Path("made/s.sock")), 0600u);
  EXPECT_TRUE(ConnectToUnixSocket(Path("made/s.sock")).has_value());
}

TEST_F(UnixSocket, IsNotTakenFromWhoAnswersThere) {
  const auto first = ListenOnUnixSocket(Path("s.sock"));
  ASSERT_TRUE(first.has_value());
  const auto second = ListenOnUnixSocket(Path("s.sock"));
  ASSERT_TRUE(second.has_error());
  EXPECT_EQ(second.error().code, Code::kAlreadyExists);
  EXPECT_NE(second.error().message.find("another server answers at"), std::string::npos);
}

// Any process that may read a folder can lock it.
TEST_F(UnixSocket, IsNotWaitedForWithoutEnd) {
  const UniqueFd folder(::open(folder_, O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(::flock(folder.get(), LOCK_EX), 0);
  const auto refused = ListenOnUnixSocket(Path("s.sock"));
  ASSERT_TRUE(refused.has_error());
  EXPECT_NE(refused.error().message.find("locked"), std::string::npos) << refused.error().message;
  ASSERT_EQ(::flock(folder.get(), LOCK_UN), 0);
  EXPECT_TRUE(ListenOnUnixSocket(Path("s.sock")).has_value());
}

TEST_F(UnixSocket, IsRemovedByWhoMadeIt) {
  auto listener = ListenOnUnixSocket(Path("s.sock"));
  const auto file = FindUnixSocket(Path("s.sock"));
  ASSERT_TRUE(file.has_value()) << file.error().message;
  listener.value().reset();
  RemoveUnixSocket(file.value());
  EXPECT_FALSE(std::filesystem::exists(Path("s.sock")));
  RemoveUnixSocket(file.value());  // once is enough
  EXPECT_TRUE(FindUnixSocket(Path("s.sock")).has_error());
}

TEST_F(UnixSocket, IsNotRemovedOnceItIsAnothers) {
  ListenOnUnixSocket(Path("s.sock")).value().reset();
  const auto first = FindUnixSocket(Path("s.sock"));
  const auto successor = ListenOnUnixSocket(Path("s.sock"));  // may have the inode number of the first one
  RemoveUnixSocket(first.value());
  EXPECT_TRUE(ConnectToUnixSocket(Path("s.sock")).has_value()) << "removed under the one that uses it";
  std::filesystem::remove(Path("s.sock"));
  std::ofstream(Path("s.sock")) << "data";
  RemoveUnixSocket(first.value());
  EXPECT_TRUE(std::filesystem::exists(Path("s.sock"))) << "not even a socket";
}

TEST_F(UnixSocket, NobodyIsWaitedForAtTheEnd) {
  const auto listener = ListenOnUnixSocket(Path("s.sock"));
  const auto file = FindUnixSocket(Path("s.sock"));
  const UniqueFd starting(::open(folder_, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(::flock(starting.get(), LOCK_EX), 0);
  RemoveUnixSocket(file.value());
  EXPECT_TRUE(std::filesystem::exists(Path("s.sock"))) << "that is for the one who starts there";
}

TEST_F(UnixSocket, IsReplacedWhereNobodyAnswers) {
  ListenOnUnixSocket(Path("s.sock")).value().reset();
  const auto refused = ConnectToUnixSocket(Path("s.sock"));
  ASSERT_TRUE(refused.has_error());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_TRUE(ListenOnUnixSocket(Path("s.sock")).has_value());
}

TEST_F(UnixSocket, NeverReplacesAnotherKindOfFile) {
  std::ofstream(Path("precious")) << "data";
  std::filesystem::create_symlink(Path("precious"), Path("link"));
  for (const char* name : {"precious", "link"}) {
    const auto refused = ListenOnUnixSocket(Path(name));
    ASSERT_TRUE(refused.has_error());
    EXPECT_EQ(refused.error().code, Code::kAlreadyExists);
  }
  EXPECT_EQ(std::filesystem::file_size(Path("precious")), 4u);
}

TEST_F(UnixSocket, SaysWhatIsWrongWithAPath) {
  EXPECT_EQ(ListenOnUnixSocket(Path(std::string(200, 'x').c_str())).error().code, Code::kInvalidArgument);
  EXPECT_EQ(ListenOnUnixSocket("").error().code, Code::kInvalidArgument);
  EXPECT_TRUE(ListenOnUnixSocket(Path("no/such/folder.sock")).has_error());
  const auto missing = ConnectToUnixSocket(Path("missing"));
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().remedy.find("start ptrace-profd"), std::string::npos);
}

TEST(PeerCredentials, AreTheKernels) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const UniqueFd first(ends[0]);
  const UniqueFd second(ends[1]);
  const auto peer = ReadPeerIdentity(first.get());
  ASSERT_TRUE(peer.has_value()) << peer.error().message;
  EXPECT_EQ(peer.value().uid, ::getuid());
  EXPECT_EQ(peer.value().gid, ::getgid());
  EXPECT_EQ(peer.value().pid, Pid(::getpid()));
  std::vector<uint32_t> groups(static_cast<size_t>(::getgroups(0, nullptr)));
  ::getgroups(static_cast<int>(groups.size()), groups.data());
  EXPECT_EQ(peer.value().groups, groups);
}

TEST(PeerCredentials, OfNoSocketAreAnError) { EXPECT_TRUE(ReadPeerIdentity(STDIN_FILENO).has_error()); }

}  // namespace
}  // namespace ptrace_prof
