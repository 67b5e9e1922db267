// Each cause reaches the client unchanged: reason, thing and remedy, of a call and of a capture, in both ways.

#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "google/rpc/status.pb.h"
#include "rpc/connection/status.h"
#include "tests/unit/daemon/server/service/serving.h"

namespace ptrace_prof {
namespace {

class Reasons : public BothWays {
 protected:
  Error Dump(pid_t pid, bool blocking = false, bool nonblocking = false) {
    grpc::ClientContext context;
    v1::DumpStacksRequest request;
    request.mutable_target()->set_pid(pid);
    request.set_blocking(blocking);
    request.set_nonblocking(nonblocking);
    v1::DumpStacksResponse response;
    return FromStatus(serving_.captures().DumpStacks(&context, request, &response));
  }
  Received RecordOf(pid_t pid, bool blocking = false) {
    grpc::ClientContext context;
    v1::RecordRequest request;
    *request.mutable_spec() = SpecFor(pid);
    request.mutable_spec()->mutable_sample()->set_blocking(blocking);
    return Record(serving_, context, request);
  }
  // What DumpStacks, Record, Record's capture and GetNode report.
  void ExpectEverywhere(pid_t pid, Reason reason, const std::string& thing) {
    const Error dumped = Dump(pid);
    const Received recorded = RecordOf(pid);
    ASSERT_FALSE(recorded.captures.empty());
    for (const Error& error : {dumped, FromStatus(recorded.status), FromStatus(recorded.captures.back().error())}) {
      EXPECT_EQ(ReasonName(error.reason), ReasonName(reason)) << error.message;
      EXPECT_EQ(error.code, CodeOf(reason)) << error.message;
      EXPECT_EQ(error.thing, thing);
      EXPECT_EQ(error.remedy, dumped.remedy);
    }
    EXPECT_EQ(recorded.captures.back().state(), v1::STATE_FAILED);
    EXPECT_EQ(Diagnosis(pid), ReasonName(reason));
  }
  // The reason of the first check that failed.
  std::string Diagnosis(pid_t pid) {
    grpc::ClientContext context;
    v1::GetNodeRequest request;
    request.set_pid(pid);
    v1::Node node;
    EXPECT_TRUE(serving_.node().GetNode(&context, request, &node).ok());
    for (const v1::Check& check : node.checks()) {
      if (check.pid() == pid && check.verdict() == v1::Check::VERDICT_MISSING) {
        return check.reason();
      }
    }
    return "";
  }
};
INSTANTIATE_TEST_SUITE_P(, Reasons, testing::Values(Way::kInProcess, Way::kUnixSocket), NameOfWay);

std::string Process(pid_t pid) { return "process " + std::to_string(pid); }

pid_t OtherThreadOf(pid_t pid) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    if (const pid_t tid = std::stoi(entry.path().filename()); tid != pid) {
      return tid;
    }
  }
  return 0;
}

TEST_P(Reasons, OfWhatIsNoTarget) {
  ExpectEverywhere(4'194'303, Reason::kProcessNotFound, Process(4'194'303));
  TestTarget shell({"/bin/sh", "-c", "echo ready; exec sleep 1000"});
  ExpectEverywhere(shell.pid(), Reason::kNotPython, Process(shell.pid()));
  const auto ended = Spinning();
  siginfo_t info{};
  ASSERT_EQ(::kill(ended->pid(), SIGKILL), 0);
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(ended->pid()), &info, WEXITED | WNOWAIT), 0);
  ExpectEverywhere(ended->pid(), Reason::kTargetIsZombie, Process(ended->pid()));
}

TEST_P(Reasons, OfThreads) {
  const auto target = Python(
      "import threading, time\n"
      "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\n"
      "print('ready', flush=True)\n"
      "time.sleep(1000)\n");
  const pid_t thread = OtherThreadOf(target->pid());
  ExpectEverywhere(thread, Reason::kTargetIsThread, Process(target->pid()));
  std::string name;
  std::getline(std::ifstream("/proc/2/comm"), name);
  if (name == "kthreadd") {
    ExpectEverywhere(2, Reason::kTargetIsKernelThread, Process(2));
  }
}

TEST_P(Reasons, OfOneThatIsTraced) {
  const auto target = Spinning();
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, target->pid(), nullptr, nullptr), 0);
  const Error dumped = Dump(target->pid(), true);
  const Received recorded = RecordOf(target->pid(), true);
  for (const Error& error : {dumped, FromStatus(recorded.status), FromStatus(recorded.captures.back().error())}) {
    EXPECT_EQ(ReasonName(error.reason), "ALREADY_TRACED") << error.message;
    EXPECT_NE(error.message.find("by process " + std::to_string(::getpid())), std::string::npos) << error.message;
    EXPECT_EQ(error.thing, Process(target->pid()));
    EXPECT_NE(error.remedy, "");
  }
  const Error by_default = Dump(target->pid());
  EXPECT_EQ(ReasonName(by_default.reason), "ALREADY_TRACED") << by_default.message;
  EXPECT_NE(by_default.remedy.find("--nonblocking"), std::string::npos) << by_default.remedy;
  EXPECT_EQ(Dump(target->pid(), false, true).code, Code::kOk) << "to be read it need not be stopped";
}

TEST_P(Reasons, OfCaptures) {
  const auto target = Spinning();
  grpc::ClientContext one;
  v1::CreateCaptureRequest create;
  *create.mutable_spec() = SpecFor(target->pid());
  create.set_capture_id("nightly");
  v1::Capture capture;
  ASSERT_TRUE(serving_.captures().CreateCapture(&one, create, &capture).ok());
  grpc::ClientContext two;
  const Error taken = FromStatus(serving_.captures().CreateCapture(&two, create, &capture));
  EXPECT_EQ(taken.reason, Reason::kCaptureExists);
  EXPECT_EQ(taken.thing, "capture nightly");
  grpc::ClientContext three;
  v1::DeleteCaptureRequest discard;
  discard.set_name("nodes/-/captures/nightly");
  google::protobuf::Empty empty;
  EXPECT_EQ(FromStatus(serving_.captures().DeleteCapture(&three, discard, &empty)).reason, Reason::kCaptureNotEnded);
  grpc::ClientContext four;
  v1::GetCaptureRequest get;
  get.set_name("nodes/-/captures/other");
  const Error missing = FromStatus(serving_.captures().GetCapture(&four, get, &capture));
  EXPECT_EQ(missing.reason, Reason::kCaptureNotFound);
  EXPECT_EQ(missing.thing, "capture other");
}

TEST(ReasonOfALimit, IsAQuota) {
  Serving serving(Way::kInProcess, {.captures_per_user = 1});
  const auto target = Spinning();
  v1::CreateCaptureRequest create;
  *create.mutable_spec() = SpecFor(target->pid());
  v1::Capture capture;
  grpc::ClientContext one;
  ASSERT_TRUE(serving.captures().CreateCapture(&one, create, &capture).ok());
  grpc::ClientContext two;
  const Error refused = FromStatus(serving.captures().CreateCapture(&two, create, &capture));
  EXPECT_EQ(refused.reason, Reason::kQuota);
  EXPECT_EQ(refused.thing, "user " + std::to_string(::getuid()));
}

}  // namespace
}  // namespace ptrace_prof
