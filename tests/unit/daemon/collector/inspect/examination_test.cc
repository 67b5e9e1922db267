// The messages between us and a child that may be hostile.
#include "daemon/collector/inspect/examination.h"

#include <gtest/gtest.h>

#include <cstring>

#include "daemon/trace/extension_codec.h"
#include "daemon/trace/write/memory_sink.h"

namespace ptrace_prof {
namespace {

Candidate One(int32_t pid) {
  Candidate candidate;
  candidate.entry.pid = Pid(pid);
  candidate.entry.uid = Uid(1000);
  candidate.entry.name = "python3";
  return candidate;
}

std::string Packed(uint8_t outcome, const ProcessEntry& entry) {
  WireEncoder out;
  EncodeProcessEntry(entry, out);
  const auto size = static_cast<uint32_t>(out.buffer().size());
  std::string bytes(1, static_cast<char>(outcome));
  bytes.append(reinterpret_cast<const char*>(&size), 4);
  return bytes + out.buffer();
}

TEST(Examination, AChildSpeaksOnlyOfWhatItFound) {
  const Candidate first = One(10);
  const Candidate second = One(11);
  const Candidate* const asked[] = {&first, &second};
  ProcessEntry lie;
  lie.pid = Pid(1);
  lie.uid = Uid(0);
  lie.name = "sshd";
  lie.cmdline = {"rm", "-rf"};
  lie.python = "3.11.7";
  lie.profilable = true;
  lie.kind = ProcessKind::kEnded;
  const auto answers = ReadAnswers(Packed(0, lie) + Packed(1, lie), asked);
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].outcome, Outcome::kListed);
  EXPECT_EQ(answers[0].entry.pid, Pid(10));
  EXPECT_EQ(answers[0].entry.uid, Uid(1000));
  EXPECT_EQ(answers[0].entry.name, "python3");
  EXPECT_TRUE(answers[0].entry.cmdline.empty());
  EXPECT_EQ(answers[0].entry.python, "3.11.7");
  EXPECT_EQ(answers[0].entry.kind, ProcessKind::kPython);
  EXPECT_EQ(answers[1].entry.pid, Pid(11));
  EXPECT_EQ(answers[1].outcome, Outcome::kNotPython);
}

TEST(Examination, NonsenseEndsTheConversation) {
  const Candidate candidate = One(10);
  const Candidate* const asked[] = {&candidate, &candidate, &candidate};
  const std::string good = Packed(0, ProcessEntry{});
  EXPECT_EQ(ReadAnswers("", asked).size(), 0u);
  EXPECT_EQ(ReadAnswers(good + good.substr(0, good.size() - 1), asked).size(), 1u);
  EXPECT_EQ(ReadAnswers(good + "\x07" + good.substr(1), asked).size(), 1u);
  EXPECT_EQ(ReadAnswers(good + std::string("\0\xff\xff\xff\xff", 5) + good, asked).size(), 1u);
  EXPECT_EQ(ReadAnswers(good + good + good + good, asked).size(), 3u) << "more answers than questions";
}

TEST(Examination, WhoeverIsDeniedSaysWhy) {
  const Candidate candidate = One(10);
  const Candidate* const asked[] = {&candidate};
  MemorySink sink;
  const Error denied = Because(Reason::kCannotBecomeOwner, "root cannot become user 1000", "run as that user");
  AnswerAll(asked, OnRefusal::kReportWhy, {denied, CurrentAsker()}, sink);
  const auto answers = ReadAnswers(sink.bytes(), asked);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].outcome, Outcome::kListed);
  EXPECT_FALSE(answers[0].entry.profilable);
  EXPECT_EQ(answers[0].entry.cause, denied.message);
  EXPECT_EQ(answers[0].entry.reason, Reason::kCannotBecomeOwner);
  EXPECT_EQ(answers[0].entry.remedy, denied.remedy);
  MemorySink later;
  AnswerAll(asked, OnRefusal::kLeaveToOthers, {denied, CurrentAsker()}, later);
  EXPECT_EQ(ReadAnswers(later.bytes(), asked)[0].outcome, Outcome::kRefused);
}

}  // namespace
}  // namespace ptrace_prof
