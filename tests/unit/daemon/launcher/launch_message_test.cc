#include "daemon/launcher/launch_message.h"

#include <gtest/gtest.h>

#include <cstring>

namespace ptrace_prof {
namespace {

LaunchRequest Sample() {
  return {.number = 42,
          .peer = 7,
          .target = Pid(4711),
          .arguments = {"verb=record", "rate_hz=1e-3", "threads=1,2,3", "empty=", "schedule=wait=1,active=2",
                        "filter=2a,"}};
}

Code CodeOf(std::vector<std::string> arguments) {
  LaunchRequest request = Sample();
  request.arguments = std::move(arguments);
  const auto packet = EncodeLaunch(request);
  return packet.has_error() ? packet.error().code : Code::kOk;
}

TEST(LaunchMessage, ComesBackAsItWent) {
  const LaunchRequest sent = Sample();
  const auto packet = EncodeLaunch(sent);
  ASSERT_TRUE(packet.has_value());
  const auto got = DecodeLaunch(packet.value());
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(got.value().number, 42u);
  EXPECT_EQ(got.value().peer, 7u);
  EXPECT_EQ(got.value().target, Pid(4711));
  EXPECT_EQ(got.value().arguments, sent.arguments);
}

TEST(LaunchMessage, ArgumentsAreKeysAndPlainValuesOnly) {
  for (const char* bad :
       {"", "--", "-x=1", "pid", "=1", "pid=1 2", "pid=/etc", "Pid=1", "pid=1;2", "pid=\n", "a=b c=d"}) {
    EXPECT_EQ(CodeOf({bad}), Code::kInvalidArgument) << bad;
  }
  EXPECT_EQ(CodeOf({std::string("pid=1\0--", 8)}), Code::kInvalidArgument);
}

TEST(LaunchMessage, CountsAndLengthsAreBounded) {
  EXPECT_EQ(CodeOf(std::vector<std::string>(kMaxLaunchArguments, "a=1")), Code::kOk);
  EXPECT_EQ(CodeOf(std::vector<std::string>(kMaxLaunchArguments + 1, "a=1")), Code::kResourceExhausted);
  EXPECT_EQ(CodeOf({"a=" + std::string(kMaxLaunchMessage, '1')}), Code::kResourceExhausted);
}

TEST(LaunchMessage, APeerComesBackWithoutItsCapabilities) {
  const PeerMessage sent{9, {PeerVerdict::kOtherNamespace, {Uid(1000), Gid(100), {Gid(4), Gid(27)}, 1}, Pid(12)}};
  const auto packet = EncodePeer(sent);
  const auto got = DecodePeer(packet);
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(got.value().number, 9u);
  EXPECT_EQ(got.value().peer.verdict, PeerVerdict::kOtherNamespace);
  EXPECT_EQ(got.value().peer.pid, Pid(12));
  EXPECT_EQ(got.value().peer.who.uid, Uid(1000));
  EXPECT_EQ(got.value().peer.who.gid, Gid(100));
  EXPECT_EQ(got.value().peer.who.groups, sent.peer.who.groups);
  EXPECT_EQ(got.value().peer.who.capabilities, 0u);
  EXPECT_FALSE(got.value().peer.is_administrator);
  for (size_t size = 0; size < packet.size(); ++size) {
    EXPECT_TRUE(DecodePeer(std::span(packet).first(size)).has_error()) << size;
  }
}

TEST(LaunchMessage, AnAdministratorIsReportedToBeOne) {
  PeerMessage sent{9, {PeerVerdict::kKnown, {Uid(0), Gid(0), {}, 1}, Pid(12)}};
  sent.peer.is_administrator = true;
  const auto got = DecodePeer(EncodePeer(sent));
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_TRUE(got.value().peer.is_administrator);
  EXPECT_FALSE(got.value().is_express);
}

TEST(LaunchMessage, AUserThatIsVouchedForComesBack) {
  const PeerMessage sent{
      VouchedPeer(Uid(1000)), {PeerVerdict::kKnown, {Uid(1000), Gid(100), {Gid(4), Gid(27)}, 1}, {}}, true};
  const auto packet = EncodePeer(sent, LaunchKind::kVouch);
  const auto got = DecodePeer(packet, LaunchKind::kVouch);
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(got.value().number, VouchedPeer(Uid(1000)));
  EXPECT_EQ(got.value().peer.who.uid, Uid(1000));
  EXPECT_EQ(got.value().peer.who.gid, Gid(100));
  EXPECT_EQ(got.value().peer.who.groups, sent.peer.who.groups);
  EXPECT_EQ(got.value().peer.who.capabilities, 0u);
  EXPECT_TRUE(got.value().is_express);
  EXPECT_FALSE(got.value().peer.is_administrator);
  EXPECT_TRUE(DecodePeer(packet).has_error());  // no identity that the door could accept
  EXPECT_TRUE(DecodePeer(EncodePeer(sent), LaunchKind::kVouch).has_error());
  for (size_t size = 0; size < packet.size(); ++size) {
    EXPECT_TRUE(DecodePeer(std::span(packet).first(size), LaunchKind::kVouch).has_error()) << size;
  }
}

TEST(LaunchMessage, AProcessThatWasLookedAtComesBackAsItWent) {
  const TargetLook sent{0, Uid(1000), "python3", "/usr/bin/python3", "0::/a\n"};
  const auto packet = EncodeLooked(5, sent);
  EXPECT_EQ(DecodeLaunchHeader(packet).value().number, 5u);
  const auto got = DecodeLooked(packet);
  ASSERT_TRUE(got.has_value()) << got.error().message;
  EXPECT_EQ(got.value().owner, sent.owner);
  EXPECT_EQ(got.value().command, sent.command);
  EXPECT_EQ(got.value().program, sent.program);
  EXPECT_EQ(got.value().cgroup, sent.cgroup);
  for (size_t size = 0; size < packet.size(); ++size) {
    EXPECT_TRUE(DecodeLooked(std::span(packet).first(size)).has_error()) << size;
  }
  EXPECT_LE(
      EncodeLooked(5, {0, Uid(), std::string(64, 'c'), std::string(4096, 'p'), std::string(kMaxLookedCgroup, 'g')})
          .size(),
      kMaxLooked);
}

// Truncated or changed bytes give an error or another valid request, and never a read outside the packet.
TEST(LaunchMessage, DamagedPacketsAreRefused) {
  const auto packet = EncodeLaunch(Sample()).value();
  for (size_t size = 0; size < packet.size(); ++size) {
    EXPECT_TRUE(DecodeLaunch(std::span(packet).first(size)).has_error()) << size;
  }
  for (size_t at = 0; at < packet.size(); ++at) {
    for (const int value : {0, 1, 0x7f, 0xff}) {
      std::vector<std::byte> damaged = packet;
      damaged[at] = static_cast<std::byte>(value);
      if (const auto got = DecodeLaunch(damaged); got.has_value()) {
        EXPECT_LE(got.value().arguments.size(), kMaxLaunchArguments);
      }
    }
  }
}

TEST(LaunchMessage, ArgumentsThatAreNoneAreRefusedOnThisSideToo) {
  auto packet = EncodeLaunch(Sample()).value();
  auto* text = reinterpret_cast<char*>(packet.data()) + sizeof(LaunchHeader);
  std::memcpy(text, "--", 3);
  EXPECT_TRUE(DecodeLaunch(packet).has_error());
}

}  // namespace
}  // namespace ptrace_prof
