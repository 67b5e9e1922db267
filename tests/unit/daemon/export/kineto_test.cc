// Kineto's JSON of PyTorch beside a GPU and among other processes: what belongs together.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "rapidjson/document.h"
#include "tests/unit/daemon/export/exporting.h"

namespace ptrace_prof {
namespace {

constexpr int64_t kKinetoBegin = 5'000'000'000'000;

CaptureTask TaskOfKineto() {
  CaptureTask task;
  task.mutable_spec()->set_torch(v1::TORCH_ON);
  task.mutable_spec()->set_gpu(v1::GPU_DETAIL_DEFAULT);
  return task;
}

TraceOrigin OriginOfKineto() {
  TraceOrigin origin;
  origin.monotonic = Nanos(kKinetoBegin);
  return origin;
}

class KinetoJson : public ::testing::Test {
 protected:
  KinetoJson() : writer_(sink_, stacks_, TaskOfKineto(), OriginOfKineto()) {}

  static Nanos At(int64_t us) { return Nanos(kKinetoBegin + us * 1000); }
  std::string Exported() {
    EXPECT_TRUE(writer_.End(At(100'000), Accounting{}, EndInfo{}).has_value());
    const std::string trace(reinterpret_cast<const char*>(sink_.bytes().data()), sink_.bytes().size());
    const auto exported = Export(trace, ExportFormat::kChrome);
    EXPECT_TRUE(exported.result.has_value());
    return exported.bytes;
  }

  MemorySink sink_;
  StackTable stacks_;
  TraceWriter writer_;
};

TEST_F(KinetoJson, WorkHasTheIdOfTheInnermostOperatorWhichEndsLater) {
  writer_.AddProcess({.pid = Pid(10)});
  const ThreadHandle thread = writer_.AddThread({.pid = Pid(10), .tid = Tid(11)});
  const GpuQueueHandle queue = writer_.AddGpuQueue({.pid = Pid(10), .device = 0, .context = 1, .stream = 7});
  uint64_t correlation = 0;
  for (const int64_t launched : {5, 15, 25, 45, 95}) {
    ++correlation;
    GpuApiCall call{.begin = At(launched), .end = At(launched + 2), .name = "cudaLaunchKernel"};
    call.correlation = correlation;
    call.launches = true;
    writer_.AddGpuApiCall(thread, call);
    GpuOperation kernel{.begin = At(launched + 100), .end = At(launched + 110), .name = "gemm"};
    kernel.correlation = correlation;
    kernel.launched = At(launched);
    kernel.launched_by = Tid(11);
    writer_.AddGpuOperation(queue, kernel);
  }
  writer_.AddOperator(thread, {.begin = At(20), .end = At(30), .name = "aten::mm"});
  writer_.AddOperator(thread, {.begin = At(10), .end = At(50), .name = "aten::linear"});
  writer_.AddOperator(thread, {.begin = At(0), .end = At(60), .name = "step", .scope = OperatorScope::kUserScope});
  rapidjson::Document document;
  document.Parse(Exported().c_str());
  ASSERT_TRUE(document.IsObject());
  std::map<int64_t, std::string> names = {{0, "none"}};
  for (const auto& event : document["traceEvents"].GetArray()) {
    if (event.HasMember("cat") && event["cat"] == "cpu_op") {
      names[event["args"]["External id"].GetInt64()] = event["name"].GetString();
    }
  }
  std::map<std::string, std::map<int64_t, std::string>> found;  // by category and correlation
  for (const auto& event : document["traceEvents"].GetArray()) {
    const std::string category = event.HasMember("cat") ? event["cat"].GetString() : "";
    if (category == "kernel" || category == "cuda_runtime") {
      const auto& known = event["args"];
      found[category][known["correlation"].GetInt64()] =
          names[known.HasMember("External id") ? known["External id"].GetInt64() : 0];
    }
  }
  const std::map<int64_t, std::string> expected = {
      {1, "none"}, {2, "aten::linear"}, {3, "aten::mm"}, {4, "aten::linear"}, {5, "none"}};
  EXPECT_EQ(found["kernel"], expected);
  EXPECT_EQ(found["cuda_runtime"], expected);
}

TEST_F(KinetoJson, GroupsAndRankOfAProcess) {
  const std::string groups = R"({"backend": "gloo", "world_size": 8, "pg_count": 1})";
  writer_.AddProcess({.pid = Pid(10), .rank = 3, .world_size = 9});
  writer_.AddProcess({.pid = Pid(11), .rank = 3});  // a child has the same environment
  writer_.AddProcess({.pid = Pid(10), .rank = 3, .world_size = 9, .process_groups = groups});  // known later
  // HolisticTraceAnalysis looks for `"rank": 3`, with the blank.
  EXPECT_NE(Exported().find(R"("distributedInfo":{"rank": 3, "backend": "gloo", "world_size": 8, "pg_count": 1})"),
            std::string::npos);
}

TEST_F(KinetoJson, GroupsThatAreNoJson) {
  writer_.AddProcess({.pid = Pid(10), .rank = 3, .world_size = 9, .process_groups = R"({"a": 1}, "b": 2})"});
  EXPECT_NE(Exported().find(R"("distributedInfo":{"rank": 3, "world_size": 9})"), std::string::npos);
}

TEST_F(KinetoJson, GroupsWithoutARank) {
  writer_.AddProcess({.pid = Pid(10), .process_groups = R"({"backend": "nccl"})"});
  EXPECT_NE(Exported().find(R"("distributedInfo":{"backend": "nccl"})"), std::string::npos);
}

TEST_F(KinetoJson, SeveralRanks) {
  writer_.AddProcess({.pid = Pid(10), .rank = 0});
  writer_.AddProcess({.pid = Pid(11), .rank = 1, .process_groups = R"({"backend": "nccl"})"});
  EXPECT_EQ(Exported().find("distributedInfo"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof
