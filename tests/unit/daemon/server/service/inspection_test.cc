// DumpStacks, ListProcesses and GetNode, on real processes.

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <set>

#include "rpc/connection/status.h"
#include "tests/unit/daemon/server/service/serving.h"

namespace ptrace_prof {
namespace {

class Inspecting : public BothWays {
 protected:
  grpc::Status Dump(const v1::DumpStacksRequest& request, v1::DumpStacksResponse* response) {
    grpc::ClientContext context;
    return serving_.captures().DumpStacks(&context, request, response);
  }
  grpc::Status List(const v1::ListProcessesRequest& request, v1::ListProcessesResponse* response) {
    grpc::ClientContext context;
    return serving_.captures().ListProcesses(&context, request, response);
  }
};
INSTANTIATE_TEST_SUITE_P(, Inspecting, testing::Values(Way::kInProcess, Way::kUnixSocket), NameOfWay);

TEST_P(Inspecting, DumpsSixtyFourThreads) {
  const auto target = Python(
      "import threading\n"
      "gate = threading.Lock(); gate.acquire()\n"
      "up = threading.Barrier(65)\n"
      "def resting():\n"
      "  up.wait()\n"
      "  gate.acquire()\n"
      "def working(): resting()\n"
      "threads = [threading.Thread(target=working, name=f'worker-{i}', daemon=True) for i in range(64)]\n"
      "for thread in threads: thread.start()\n"
      "up.wait()\n"
      "print('ready', flush=True)\n"
      "gate.acquire()\n");
  v1::DumpStacksRequest request;
  request.mutable_target()->set_pid(target->pid());
  v1::DumpStacksResponse response;
  const auto status = Dump(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  size_t workers = 0;
  size_t mains = 0;
  for (const v1::ThreadStack& thread : response.threads()) {
    mains += thread.is_main() ? 1 : 0;
    EXPECT_EQ(thread.pid(), target->pid());
    std::string functions;
    for (const v1::StackFrame& frame : thread.frames()) {
      functions += frame.function() + "(" + std::to_string(frame.line()) + ") ";
    }
    const bool is_worker = functions.find("working") != std::string::npos;
    workers += is_worker ? 1 : 0;
    EXPECT_TRUE(!is_worker || functions.find("resting(") != std::string::npos) << functions;
  }
  EXPECT_EQ(workers, 64U);
  EXPECT_EQ(mains, 1U);
  EXPECT_FALSE(response.trace().empty());
  EXPECT_EQ(HarmOf(target->pid()), "");
}

TEST_P(Inspecting, ADumpSaysWhyItCannot) {
  v1::DumpStacksRequest request;
  v1::DumpStacksResponse response;
  const auto reason = [&] { return ReasonOf(Dump(request, &response)); };
  EXPECT_EQ(reason(), "INVALID_REQUEST");
  request.mutable_target()->set_pid(4'194'303);
  EXPECT_EQ(reason(), "PROCESS_NOT_FOUND");
  request.mutable_target()->set_pid(-1);
  EXPECT_EQ(reason(), "INVALID_REQUEST");
  request.mutable_target()->set_pid(1'000'000'000);
  EXPECT_EQ(reason(), "INVALID_REQUEST");
  const auto target = Spinning();
  request.mutable_target()->set_pid(target->pid());
  request.set_blocking(true);
  request.set_no_stops(true);
  EXPECT_EQ(reason(), "INVALID_REQUEST");
  request.set_no_stops(false);
  EXPECT_EQ(reason(), "");
  EXPECT_EQ(HarmOf(target->pid()), "");
}

TEST_P(Inspecting, PagesOfProcessesShowEachOnce) {
  const std::string mark = "of-the-paging-test-" + std::to_string(::getpid());  // not the processes of a test beside us
  std::vector<std::unique_ptr<TestTarget>> targets;
  std::set<int> expected;
  for (int i = 0; i < 5; ++i) {
    targets.push_back(Python("mark = '" + mark + "'\nprint('ready', flush=True)\nimport time; time.sleep(1000)"));
    expected.insert(targets.back()->pid());
  }
  v1::ListProcessesRequest request;
  request.set_page_size(2);
  request.mutable_filter()->set_name(mark);
  v1::ListProcessesResponse response;
  std::vector<int> seen;
  int pages = 0;
  do {
    response.Clear();
    const auto status = List(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_LE(response.processes_size(), 2);
    for (const v1::PythonProcess& process : response.processes()) {
      seen.push_back(process.pid());
      EXPECT_TRUE(process.profilable()) << process.reason();
      EXPECT_EQ(process.python_version().substr(0, 2), "3.");
      EXPECT_GT(process.start_time_ticks(), 0U);
    }
    request.set_page_token(response.next_page_token());
    ++pages;
  } while (!response.next_page_token().empty());
  EXPECT_EQ(pages, 3);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(std::set<int>(seen.begin(), seen.end()), expected);
  EXPECT_EQ(seen.size(), expected.size());
}

// Starts collectors through another starter, and counts them.
class CountingStarter : public CollectorStarter {
 public:
  Result<std::unique_ptr<Collector>> Start(const CaptureTask& request) override {
    ++started;
    return local_.Start(request);
  }
  std::atomic<int> started = 0;

 private:
  LocalStarter local_;
};

TEST_P(Inspecting, LaterPagesAreOfTheSameMomentWhateverComesAndGoes) {
  CountingStarter starter;
  Serving serving(GetParam(), {}, &starter);
  const std::string mark = "of-the-moment-test-" + std::to_string(::getpid());
  const auto start = [&] {
    return Python("mark = '" + mark + "'\nprint('ready', flush=True)\nimport time; time.sleep(1000)");
  };
  std::map<int, std::unique_ptr<TestTarget>> targets;
  std::vector<int> expected;
  for (int i = 0; i < 4; ++i) {
    auto target = start();
    expected.push_back(target->pid());
    targets[target->pid()] = std::move(target);
  }
  std::sort(expected.begin(), expected.end());
  v1::ListProcessesRequest request;
  request.set_page_size(1);
  request.mutable_filter()->set_name(mark);
  std::vector<int> seen;
  std::vector<std::unique_ptr<TestTarget>> newcomers;
  do {
    grpc::ClientContext context;
    v1::ListProcessesResponse response;
    const auto status = serving.captures().ListProcesses(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    for (const v1::PythonProcess& process : response.processes()) {
      seen.push_back(process.pid());
    }
    request.set_page_token(response.next_page_token());
    if (seen.size() == 1) {
      targets.erase(expected[0]);  // was listed already
      targets.erase(expected[2]);  // is yet to be listed
      newcomers.push_back(start());
      newcomers.push_back(start());
    }
  } while (!request.page_token().empty());
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(starter.started, 1) << "one look at the node for all pages";
}

TEST_P(Inspecting, APageIsOfItsOwnQuestion) {
  v1::ListProcessesRequest request;
  v1::ListProcessesResponse response;
  const auto one = Spinning();
  const auto two = Spinning();
  request.set_page_size(1);
  ASSERT_TRUE(List(request, &response).ok());
  request.set_page_token(response.next_page_token());
  ASSERT_FALSE(request.page_token().empty());
  response.Clear();
  ASSERT_TRUE(List(request, &response).ok());
  EXPECT_EQ(response.processes_size(), 1);
  response.Clear();
  ASSERT_TRUE(List(request, &response).ok()) << "a retry gets the same page";
  request.mutable_filter()->set_name("python");
  const auto other = List(request, &response);
  EXPECT_EQ(ReasonOf(other), "INVALID_REQUEST");
  EXPECT_NE(other.error_message().find("another filter"), std::string::npos) << other.error_message();
}

TEST_P(Inspecting, BadPagesAreRefused) {
  v1::ListProcessesResponse response;
  for (const char* token :
       {"x", "-1", "1 ", "99999999999999999999", ".1", "x.", "x.1", "x.-1", "x.1 ", "x.99999999999999999999"}) {
    v1::ListProcessesRequest request;
    request.set_page_token(token);
    EXPECT_EQ(ReasonOf(List(request, &response)), "INVALID_REQUEST") << token;
  }
  v1::ListProcessesRequest request;
  request.set_page_size(-1);
  EXPECT_EQ(ReasonOf(List(request, &response)), "INVALID_REQUEST");
}

TEST_P(Inspecting, TheNodeSaysWhatWorksThere) {
  const auto target = Spinning();
  v1::GetNodeRequest request;
  request.set_pid(target->pid());
  v1::Node node;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(serving_.node().GetNode(&context, request, &node).ok());
  }
  EXPECT_FALSE(node.kernel().empty());
  EXPECT_GT(node.monotonic_ns(), 0);
  bool about_node = false;
  bool about_process = false;
  for (const v1::Check& check : node.checks()) {
    about_node = about_node || check.pid() == 0;
    about_process = about_process || check.pid() == target->pid();
    EXPECT_TRUE(check.verdict() == v1::Check::VERDICT_OK || !check.cause().empty()) << check.subject();
  }
  EXPECT_TRUE(about_node && about_process);
  request.set_pid(-5);
  grpc::ClientContext context;
  EXPECT_EQ(serving_.node().GetNode(&context, request, &node).error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace ptrace_prof
