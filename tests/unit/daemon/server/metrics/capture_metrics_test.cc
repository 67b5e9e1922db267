#include "daemon/server/metrics/capture_metrics.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

CaptureParameters Recording() {
  CaptureParameters parameters;
  parameters.id = "c1";
  return parameters;
}

CaptureSnapshot Succeeded() {
  CaptureSnapshot end;
  end.state = CaptureState::kSucceeded;
  end.created = Nanos::FromSeconds(1000);
  end.started = Nanos::FromSeconds(1000.15);
  end.trace_bytes = 2048;
  end.totals.samples = 100;
  end.totals.lost = 7;
  end.totals.stops = 4;
  end.totals.stopped_total = Nanos::FromMillis(1);
  end.totals.stopped_longest = Nanos(400'000);
  end.gpu = {.kernels = 50, .dropped = 3, .invalid = 2, .unseen = 1};
  return end;
}

class CaptureMetricsTest : public testing::Test {
 protected:
  bool Has(const std::string& line) const {
    return ("\n" + metrics_.Page({})).find("\n" + line + "\n") != std::string::npos;
  }
  CaptureMetrics metrics_;
};

TEST_F(CaptureMetricsTest, CountWhatEndedAndWhatItsTraceSays) {
  metrics_.Ended(Recording(), Succeeded());
  metrics_.Ended(Recording(), Succeeded());
  for (const char* line :
       {"ptrace_prof_captures_total{what=\"record\",result=\"succeeded\"} 2", "ptrace_prof_recorded_bytes_total 4096",
        "ptrace_prof_samples_total 200", "ptrace_prof_dropped_total{kind=\"samples_lost\"} 14",
        "ptrace_prof_gpu_kernels_total 100", "ptrace_prof_dropped_total{kind=\"gpu_records_dropped\"} 6",
        "ptrace_prof_dropped_total{kind=\"gpu_records_invalid\"} 4",
        "ptrace_prof_dropped_total{kind=\"gpu_kernels_unseen\"} 2", "ptrace_prof_stops_total 8",
        "ptrace_prof_attach_seconds_bucket{le=\"0.1\"} 0", "ptrace_prof_attach_seconds_bucket{le=\"0.2\"} 2",
        "ptrace_prof_longest_stop_seconds_bucket{le=\"0.0002\"} 0",
        "ptrace_prof_longest_stop_seconds_bucket{le=\"0.0005\"} 2",
        "ptrace_prof_stopped_seconds_bucket{le=\"0.001\"} 2"}) {
    EXPECT_TRUE(Has(line)) << line << "\n" << metrics_.Page({});
  }
}

TEST_F(CaptureMetricsTest, AFailureHasItsReasonAndNoTimes) {
  CaptureSnapshot end;
  end.state = CaptureState::kFailed;
  end.error = Because(Reason::kNotPython, "process 4711 is no Python");
  metrics_.Ended(Recording(), end);
  EXPECT_TRUE(Has("ptrace_prof_failures_total{reason=\"NOT_PYTHON\"} 1"));
  EXPECT_TRUE(Has("ptrace_prof_attach_seconds_count 0"));
  EXPECT_EQ(metrics_.Page({}).find("4711"), std::string::npos);
}

TEST_F(CaptureMetricsTest, CpuTimeIsOfAllKindsAndNeverGoesBack) {
  CaptureUsage usage;
  usage.cpu_time = Nanos::FromSeconds(2);
  usage.cpu_cores = 0.25;
  CaptureParameters dump = Recording();
  dump.request.set_verb(CaptureTask::DUMP);
  CaptureSnapshot end = Succeeded();
  end.cpu = Nanos::FromSeconds(1);
  metrics_.Ended(dump, end);
  const auto has = [&](const std::string& line) { return metrics_.Page(usage).find(line + "\n") != std::string::npos; };
  EXPECT_TRUE(has("ptrace_prof_collector_cpu_seconds_total 3"));
  EXPECT_TRUE(has("ptrace_prof_cpu_granted_cores 0.25"));
  EXPECT_EQ(metrics_.Page(usage).find("cpu_budget"), std::string::npos) << "there is none";
  usage = {.cpu_budget = 0.5};
  EXPECT_TRUE(has("ptrace_prof_collector_cpu_seconds_total 3")) << "one has ended, and was not counted yet";
  EXPECT_TRUE(has("ptrace_prof_cpu_budget_cores 0.5"));
}

TEST_F(CaptureMetricsTest, WhatIsGivenUpIsCountedByWhy) {
  EXPECT_TRUE(Has("ptrace_prof_forgotten_bytes_total 0"));
  metrics_.Forgotten({"c1", 1001, 100, "age"});
  metrics_.Forgotten({"c2", 1001, 20, "bytes"});
  metrics_.Forgotten({"c3", 1002, 3, "bytes"});
  for (const char* line : {"ptrace_prof_forgotten_total{why=\"age\"} 1", "ptrace_prof_forgotten_total{why=\"bytes\"} 2",
                           "ptrace_prof_forgotten_bytes_total 123"}) {
    EXPECT_TRUE(Has(line)) << line << "\n" << metrics_.Page({});
  }
}

TEST_F(CaptureMetricsTest, WhatIsRefusedIsCountedByReason) {
  metrics_.Decided("record", "started", Reason::kUnspecified);
  metrics_.Decided("record", "refused", Reason::kYamaDenied);
  metrics_.Decided("connect", "refused", Reason::kYamaDenied);
  EXPECT_TRUE(Has("ptrace_prof_denials_total{reason=\"YAMA_DENIED\"} 2"));
  EXPECT_TRUE(Has("ptrace_prof_decisions_total{what=\"record\",outcome=\"started\"} 1"));
}

}  // namespace
}  // namespace ptrace_prof
