// Listings and diagnoses in a trace: what is written comes back, protobuf agrees, invalid bytes do no harm.
#include <gtest/gtest.h>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/extension_codec.h"
#include "daemon/trace/perfetto.pb.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"
#include "tests/unit/daemon/trace/recorder.h"

namespace ptrace_prof {
namespace {

ProcessEntry FullEntry() {
  ProcessEntry entry;
  entry.pid = Pid(4711);
  entry.ns_pid = Pid(7);
  entry.parent_pid = Pid(1);
  entry.uid = Uid(4'000'000'000);
  entry.kind = ProcessKind::kEnded;
  entry.name = "python3";
  entry.cmdline = {"python3", "", "train.py", "\x1b[31m"};
  entry.start_time = Nanos(123'456'789);
  entry.python = "3.11.7";
  entry.container_runtime = "docker";
  entry.container = "0123456789ab";
  entry.slurm_job = "123";
  entry.slurm_step = "batch";
  entry.rank = 0;
  entry.world_size = 8;
  entry.local_rank = -1;
  entry.gpu_libraries = {"libcuda", "libnccl"};
  entry.profilable = true;
  entry.cause = "traced by gdb";
  entry.reason = Reason::kAlreadyTraced;
  entry.remedy = "end gdb";
  return entry;
}

Check FullCheck() {
  return {Pid(12),
          "yama",
          Verdict::kMissing,
          "kernel.yama.ptrace_scope is 3",
          "reboot",
          Code::kPermissionDenied,
          Reason::kYamaDenied};
}

void ExpectSame(const ProcessEntry& a, const ProcessEntry& b) {
  EXPECT_EQ(a.pid, b.pid);
  EXPECT_EQ(a.ns_pid, b.ns_pid);
  EXPECT_EQ(a.parent_pid, b.parent_pid);
  EXPECT_EQ(a.uid, b.uid);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.cmdline, b.cmdline);
  EXPECT_EQ(a.start_time, b.start_time);
  EXPECT_EQ(a.python, b.python);
  EXPECT_EQ(a.container_runtime, b.container_runtime);
  EXPECT_EQ(a.container, b.container);
  EXPECT_EQ(a.slurm_job, b.slurm_job);
  EXPECT_EQ(a.slurm_step, b.slurm_step);
  EXPECT_EQ(a.rank, b.rank);
  EXPECT_EQ(a.world_size, b.world_size);
  EXPECT_EQ(a.local_rank, b.local_rank);
  EXPECT_EQ(a.gpu_libraries, b.gpu_libraries);
  EXPECT_EQ(a.profilable, b.profilable);
  EXPECT_EQ(a.cause, b.cause);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.remedy, b.remedy);
}

std::string Listing(size_t entries) {
  MemorySink sink;
  const StackTable stacks;
  CaptureTask request;
  request.set_verb(CaptureTask::LIST);
  TraceWriter writer(sink, stacks, request, FixedOrigin());
  for (size_t i = 0; i < entries; ++i) {
    writer.AddProcessEntry(FullEntry());
  }
  writer.AddCheck(FullCheck());
  EXPECT_TRUE(writer.End(Nanos(1), Accounting{}, EndInfo{}).has_value());
  return sink.bytes();
}

TEST(Inspection, ComesBackAsItWas) {
  for (const size_t piece : {SIZE_MAX, size_t{1}, size_t{37}}) {
    ReadBack back(Listing(3), piece);
    ASSERT_TRUE(back.status.has_value());
    EXPECT_EQ(back.reader.skipped(), 0u);
    ASSERT_EQ(back.visitor.entries.size(), 3u);
    ExpectSame(back.visitor.entries[2], FullEntry());
    ASSERT_EQ(back.visitor.checks.size(), 1u);
    EXPECT_EQ(back.visitor.checks[0].pid, Pid(12));
    EXPECT_EQ(back.visitor.checks[0].subject, "yama");
    EXPECT_EQ(back.visitor.checks[0].verdict, Verdict::kMissing);
    EXPECT_EQ(back.visitor.checks[0].cause, FullCheck().cause);
    EXPECT_EQ(back.visitor.checks[0].remedy, "reboot");
    EXPECT_EQ(back.visitor.checks[0].code, Code::kPermissionDenied);
    ASSERT_EQ(back.visitor.requests.size(), 1u);
    EXPECT_EQ(back.visitor.requests[0].verb(), CaptureTask::LIST);
  }
}

TEST(Inspection, ALongListIsWrittenWhileItGrows) {
  ReadBack back(Listing(5000));
  EXPECT_EQ(back.visitor.entries.size(), 5000u);
  EXPECT_EQ(back.reader.skipped(), 0u);
}

TEST(Inspection, AbsentStaysAbsent) {
  WireEncoder out;
  EncodeProcessEntry(ProcessEntry{}, out);
  const ProcessEntry entry = DecodeProcessEntry(out.buffer());
  ExpectSame(entry, ProcessEntry{});
  EXPECT_FALSE(entry.rank.has_value());
}

TEST(Inspection, ProtobufUnderstandsEveryField) {
  perfetto::protos::Trace trace;
  ASSERT_TRUE(trace.ParseFromString(Listing(1)));
  const trace::Extension* with_entry = nullptr;
  for (const auto& packet : trace.packet()) {
    const auto& extension = packet.GetExtension(trace::ptrace_prof);
    EXPECT_TRUE(extension.unknown_fields().empty());
    with_entry = extension.has_process_entry() ? &extension : with_entry;
  }
  ASSERT_NE(with_entry, nullptr);
  const trace::ProcessEntry& entry = with_entry->process_entry();
  EXPECT_TRUE(entry.unknown_fields().empty());
  EXPECT_EQ(entry.uid(), 4'000'000'000u);
  EXPECT_EQ(entry.cmdline_size(), 4);
  EXPECT_TRUE(entry.has_rank());
  EXPECT_EQ(entry.local_rank(), -1);
  EXPECT_EQ(entry.gpu_libraries(1), "libnccl");
}

TEST(Inspection, NonsenseKeepsDefaults) {
  WireEncoder out;
  out.Varint(trace::ProcessEntry::kKindFieldNumber, 99);
  EXPECT_EQ(DecodeProcessEntry(out.buffer()).kind, ProcessKind::kPython);
  out.Clear();
  for (int i = 0; i < 10'000; ++i) {
    out.Bytes(trace::ProcessEntry::kCmdlineFieldNumber, "x");
    out.Bytes(trace::ProcessEntry::kGpuLibrariesFieldNumber, "y");
  }
  const ProcessEntry crowded = DecodeProcessEntry(out.buffer());
  EXPECT_EQ(crowded.cmdline.size(), 4096u);
  EXPECT_EQ(crowded.gpu_libraries.size(), 256u);
  out.Clear();
  out.Varint(trace::Check::kVerdictFieldNumber, 99);
  out.Varint(trace::Check::kCodeFieldNumber, 99);
  EXPECT_EQ(DecodeCheck(out.buffer()).verdict, Verdict::kMissing) << "what we do not know is not fine";
  EXPECT_EQ(DecodeCheck(out.buffer()).code, Code::kUnknown);
}

}  // namespace
}  // namespace ptrace_prof
