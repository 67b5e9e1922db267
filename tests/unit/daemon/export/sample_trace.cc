#include "tests/unit/daemon/export/sample_trace.h"

#include <fmt/format.h>

#include <vector>

#include "daemon/trace/stack_table.h"
#include "daemon/trace/trace_origin.h"
#include "daemon/trace/write/memory_sink.h"
#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

constexpr Nanos kStart = Nanos::FromSeconds(1000);
constexpr Nanos kStep = Nanos::FromMillis(2);

TraceOrigin Origin() {
  return {.boot_id = "6d3f0c5e-0000-4000-8000-000000000001",
          .host = "testhost",
          .monotonic = kStart,
          .boottime = kStart,
          .realtime = Nanos::FromSeconds(1'700'000'000)};
}

CaptureTask Request() {
  CaptureTask request;
  SetTarget(Pid(4000), &request);
  request.mutable_spec()->mutable_sample()->set_rate_hz(500);
  return request;
}

// A writer with its table, and short ways to add much.
struct Scene {
  MemorySink sink;
  StackTable stacks;
  TraceWriter writer{sink, stacks, Request(), Origin()};

  StackId Stack(const std::vector<Frame>& frames) {
    StackId stack = kEmptyStack;
    for (const Frame& frame : frames) {
      stack = stacks.InternStack(stack, stacks.InternFrame(frame));
    }
    return stack;
  }
  ThreadHandle Thread(int pid, int tid, const std::string& name) {
    return writer.AddThread(
        {.pid = Pid(pid), .tid = Tid(tid), .ns_tid = Tid(tid), .name = name, .is_main = pid == tid});
  }
  void Process(int pid, int parent, const std::vector<std::string>& cmdline) {
    writer.AddProcess({.pid = Pid(pid),
                       .ns_pid = Pid(pid),
                       .parent_pid = Pid(parent),
                       .name = "python3",
                       .cmdline = cmdline,
                       .python = "3.11.7",
                       .start_time = Nanos::FromSeconds(900)});
  }
  void Run(ThreadHandle thread, Nanos& at, StackId stack, int samples, SampleQuality quality = SampleQuality::kSeen) {
    for (int i = 0; i < samples; ++i, at = at + kStep) {
      writer.AddSample(thread, at, stack, quality);
    }
  }
  std::string End(Nanos at, uint64_t samples) {
    Accounting accounting;
    accounting.rounds = 500;
    accounting.samples = samples;
    accounting.late = 3;
    accounting.stops = 1;
    accounting.idle_skipped = 120;
    accounting.wall = at - kStart;
    accounting.collector_cpu = Nanos((at - kStart).value / 200);
    accounting.asked_rate_hz = 500;
    accounting.actual_rate_hz = 500;
    const auto ended = writer.End(at, accounting, {});
    return ended.has_error() ? std::string() : sink.bytes();
  }
};

Frame Python(const std::string& function, const std::string& file, int line, int first_line) {
  return {.function = function, .file = file, .line = line, .end_line = line, .first_line = first_line};
}

}  // namespace

std::string SampleTrace() {
  Scene scene;
  scene.Process(4000, 1, {"python3", "train.py", "--epochs", "3"});
  scene.Process(4100, 4000, {"python3", "-c", "worker"});
  const ThreadHandle main = scene.Thread(4000, 4000, "MainThread");
  const ThreadHandle loader = scene.Thread(4000, 4001, "loader");
  const ThreadHandle worker = scene.Thread(4100, 4100, "MainThread");
  const Frame module = Python("<module>", "/srv/job/train.py", 40, 1);
  const Frame train = Python("Trainer.train", "/srv/job/train.py", 21, 18);
  const Frame step = Python("Trainer.step", "/srv/job/train.py", 30, 28);
  const Frame step_loss = Python("Trainer.step", "/srv/job/train.py", 33, 28);
  const Frame linear = Python("Linear.forward", "/usr/lib/python3/dist-packages/torch/nn/modules/linear.py", 114, 113);
  const Frame walk = Python("walk", "/usr/lib/python3.11/copy.py", 7, 5);
  const Frame wait = Python("Condition.wait", "/usr/lib/python3.11/threading.py", 320, 280);
  const Frame truncated{.function = "[truncated]", .kind = FrameKind::kMarker};

  Nanos at = kStart;
  scene.writer.SetState(main, at, {ThreadState::kRunning, true, ""});
  scene.Run(main, at, scene.Stack({module, train, step}), 40);
  scene.Run(main, at, scene.Stack({module, train, step, linear}), 100);
  scene.Run(main, at, scene.Stack({module, train, step_loss}), 20);
  scene.Run(main, at, scene.Stack({module, train, walk, walk, walk}), 10, SampleQuality::kStaleNames);
  scene.Run(main, at, scene.Stack({module, train, truncated}), 2, SampleQuality::kTruncated);
  scene.writer.SetState(main, at, {ThreadState::kIdle, false, "futex"});
  scene.Run(main, at, scene.Stack({module, wait}), 28);

  Nanos loader_at = kStart + Nanos::FromMillis(50);
  scene.writer.SetState(loader, loader_at, {ThreadState::kRunning, false, ""});
  scene.Run(loader, loader_at, scene.Stack({Python("load", "/srv/job/data.py", 9, 8)}), 5);
  loader_at = loader_at + Nanos::FromMillis(150);  // idle, not sampled
  scene.Run(loader, loader_at, scene.Stack({Python("load", "/srv/job/data.py", 10, 8)}), 7);
  Nanos worker_at = kStart + Nanos::FromMillis(10);
  scene.Run(worker, worker_at, kEmptyStack, 3);
  scene.Run(worker, worker_at, scene.Stack({Python("<module>", "<string>", 1, 1)}), 4, SampleQuality::kTorn);
  return scene.End(at, 219);
}

std::string HostileTrace() {
  Scene scene;
  const std::string script = "</script><script>document.title='owned'</script>";
  const std::string image = "<img src=x onerror=\"document.title='owned'\">";
  scene.Process(4000, 1, {"python3", script, image});
  const ThreadHandle main = scene.Thread(4000, 4000, fmt::format("a;b\n\u202e{}", image));
  Nanos at = kStart;
  std::vector<Frame> frames = {
      Python(script, image, 1, 1),
      Python("semi;colon 12", "dir;x/\"quoted\"'.py", 2, 2),
      Python("\x1b[31mred\x1b]0;title\x07", "\xff\xfe\x80", 3, 3),
      Python("]]>&amp;<![CDATA[", "--><!--", 4, 4),
      Python("\u061c\u200f\u2066\u2028\ufeff", "\u009b31m\u202d.py", 6, 6),
      Python("\xe2\x80\xae"
             "reversed\xed\xa0\x80",
             std::string("nul\0byte", 8), -5, -7),
      Python("", "", 0, 0),
      Python("__proto__", "constructor", 5, 5),
      Python(std::string(5000, 'x'), "long.py", 2147483647, 2147483647),
      Python("javascript:document.title='owned'", "javascript:document.title='owned'", 7, 7),
      Python(script + "${document.title='owned'}`", "data:text/html," + script, 8, 8),
  };
  scene.writer.AddNotice(kStart, "javascript:document.title='owned' " + script + image);
  scene.writer.AddNotice(kStart, std::string(3000, 'w'));
  scene.Run(main, at, scene.Stack(frames), 10);
  frames.resize(7);
  scene.Run(main, at, scene.Stack(frames), 10);
  std::vector<Frame> deep(3000, Python("deep", "deep.py", 1, 1));
  scene.Run(main, at, scene.Stack(deep), 10);
  return scene.End(at, 30);
}

namespace {

// Work of a thread on a GPU: each launch is a call and its operation, with one correlation.
struct GpuScene {
  Scene& scene;
  ThreadHandle thread;
  Tid tid;
  uint64_t correlation = 0;

  void Launch(GpuQueueHandle queue, GpuOperation operation, Nanos launched, const char* function,
              GpuStackSource source) {
    operation.correlation = ++correlation;
    operation.launched_by = tid;
    operation.launched = launched;
    operation.stack_source = source;
    GpuApiCall call;
    call.begin = launched;
    call.end = launched + Nanos(6'000);
    call.name = function;
    call.function = 211;
    call.correlation = correlation;
    call.launches = operation.kind != GpuOperationKind::kSync;
    call.stack = operation.stack;
    call.stack_source = source;
    if (operation.kind == GpuOperationKind::kSync) {
      call.end = operation.end;
    }
    scene.writer.AddGpuApiCall(thread, call);
    scene.writer.AddGpuOperation(queue, operation);
  }
};

GpuOperation Operation(GpuOperationKind kind, const char* name, Nanos begin, int64_t length, StackId stack) {
  GpuOperation operation;
  operation.kind = kind;
  operation.name = name;
  operation.begin = begin;
  operation.end = begin + Nanos(length);
  operation.stack = stack;
  if (kind == GpuOperationKind::kKernel) {
    operation.shape = {{108, 2, 1}, {256, 1, 1}, 64, 1024, 0};
  } else if (kind != GpuOperationKind::kSync) {
    operation.bytes = 4 << 20;
  }
  return operation;
}

GpuDevice Device() {
  GpuDevice device;
  device.pid = Pid(4000);
  device.name = "Model X <80GB>";
  device.uuid = "GPU-00000000-0000-0000-0000-000000000001";
  device.compute_major = 9;
  device.memory_bytes = uint64_t{80} << 30;
  device.multiprocessors = 132;
  device.max_threads_per_block = 1024;
  device.warp_size = 32;
  return device;
}

// Three steps of 20 ms: a copy in, kernels that the host keeps up with, kernels that it does not, a wait.
void AddGpuWork(Scene& scene, GpuScene gpu, GpuQueueHandle compute, GpuQueueHandle copies, StackId forward,
                StackId load) {
  using Kind = GpuOperationKind;
  for (int step = 0; step < 3; ++step) {
    const Nanos begin = kStart + Nanos::FromMillis(100 + 20 * step);
    const auto at = [&](int64_t us) { return begin + Nanos(1000 * us); };
    gpu.Launch(copies, Operation(Kind::kMemcpy, "Memcpy HtoD (Pinned -> Device)", at(20), 400'000, load), at(0),
               "cudaMemcpyAsync", GpuStackSource::kSampled);
    for (int i = 0; i < 20; ++i) {  // launched ahead, one after the other
      gpu.Launch(compute, Operation(Kind::kKernel, "gemm_kernel<float>", at(450 + 200 * i), 190'000, forward),
                 at(30 + 10 * i), "cudaLaunchKernel", GpuStackSource::kExact);
    }
    for (int i = 0; i < 50; ++i) {  // short ones, each launched when the one before is over
      gpu.Launch(compute, Operation(Kind::kKernel, "relu_kernel", at(4500 + 50 * i), 10'000, forward),
                 at(4490 + 50 * i), "cudaLaunchKernel", GpuStackSource::kBackward);
    }
    GpuOperation wait = Operation(Kind::kSync, "Stream Sync", at(6960), 20'000, load);
    wait.sync = GpuSync::kStream;
    gpu.Launch(compute, wait, at(6955), "cudaStreamSynchronize", GpuStackSource::kExact);
    gpu.Launch(compute, Operation(Kind::kMemset, "Memset (Device)", at(7200), 5'000, kEmptyStack), at(7100),
               "cudaMemsetAsync", GpuStackSource::kNone);
    scene.writer.BeginStep(gpu.thread, begin, static_cast<uint64_t>(step));
  }
  scene.writer.EndStep(gpu.thread, kStart + Nanos::FromMillis(160));
}

// The job's annotations of these steps: nested ranges, one across two steps, a mark.
void Annotate(Scene& scene, ThreadHandle thread) {
  using Kind = GpuAnnotationKind;
  const auto at = [](int64_t us) { return kStart + Nanos::FromMillis(100) + Nanos(1000 * us); };
  const GpuAnnotation annotations[] = {
      {Kind::kRange, at(20), at(4000), "forward", "model <1>"},
      {Kind::kMark, at(4100), at(4100), "forward is done", ""},
      {Kind::kRange, at(5), at(19'990), "step 0", ""},
      {Kind::kRange, at(10'000), at(25'000), "fetch", ""},
      {Kind::kRange, at(20'005), at(39'990), "step 1", ""},
      {Kind::kOpenRange, at(1), at(60'000), "epoch", ""},
  };
  for (const GpuAnnotation& annotation : annotations) {
    scene.writer.AddGpuAnnotation(thread, annotation);
  }
}

}  // namespace

std::string TraceOfRanks(const std::vector<int>& ranks) {
  Scene scene;
  int pid = 4000;
  for (const int rank : ranks) {
    ProcessInfo process{.pid = Pid(++pid), .ns_pid = Pid(pid), .name = "python3"};
    if (rank >= 0) {
      process.rank = rank;
      process.world_size = 4;
    }
    scene.writer.AddProcess(process);
  }
  return scene.End(kStart, 0);
}

std::string GpuTrace() {
  Scene scene;
  scene.Process(4000, 1, {"python3", "train.py", "--gpu"});
  const ThreadHandle main = scene.Thread(4000, 4000, "MainThread");
  const Frame module = Python("<module>", "/srv/job/train.py", 40, 1);
  const Frame step = Python("Trainer.step", "/srv/job/train.py", 30, 28);
  const Frame load = Python("load", "/srv/job/data.py", 9, 8);
  Frame linear = Python("nn.Module: Linear_0 (layers.3)", "", 0, 0);
  linear.kind = FrameKind::kModule;
  scene.writer.AddGpuDevice(Device());
  GpuQueue queue;
  queue.pid = Pid(4000);
  queue.device = 0;
  queue.context = 1;
  queue.stream = 7;
  queue.is_default = true;
  const GpuQueueHandle compute = scene.writer.AddGpuQueue(queue);
  queue.stream = 13;
  queue.is_default = false;
  const GpuQueueHandle copies = scene.writer.AddGpuQueue(queue);
  const std::string gpu = "GPU 0 (Model X <80GB>)";
  TraceWriter& writer = scene.writer;
  const CounterId busy = writer.AddCounter({gpu, "utilisation", CounterUnit::kPercent, 100});
  const CounterId memory = writer.AddCounter({gpu, "memory used", CounterUnit::kBytes, int64_t{80} << 30});
  const CounterId power = writer.AddCounter({gpu, "power", CounterUnit::kMilliwatts, 0});
  Nanos at = kStart;
  scene.Run(main, at, scene.Stack({module, step}), 250);
  AddGpuWork(scene, {scene, main, Tid(4000)}, compute, copies, scene.Stack({module, step, linear}),
             scene.Stack({module, step, load}));
  Annotate(scene, main);
  GpuAccounting accounting;
  accounting.pid = Pid(4000);
  accounting.annotations = 6;
  accounting.annotations_without_begin = 2;
  accounting.annotations_without_end = 1;
  accounting.state = GpuCaptureState::kRecording;
  accounting.launches = 210;
  accounting.kernels = 210;
  accounting.copies = 3;
  accounting.memsets = 3;
  accounting.syncs = 3;
  accounting.attributed_exact = 60;
  accounting.attributed_backward = 150;
  writer.AddGpuAccounting(accounting);
  for (int i = 0; i < 5; ++i) {
    const Nanos when = kStart + Nanos::FromMillis(100 * i);
    writer.AddCount(busy, when, i == 2 ? 0 : 20 * i + 10);
    writer.AddCount(memory, when, int64_t{10 + 10 * i} << 30);
    writer.AddCount(power, when, 80'000 + 60'000 * i);
  }
  return scene.End(at, 250);
}

std::string LongTrace(int seconds) {
  Scene scene;
  scene.Process(4000, 1, {"python3", "long.py"});
  const ThreadHandle main = scene.Thread(4000, 4000, "MainThread");
  Nanos at = kStart;
  const int rounds = seconds * 1000;
  for (int i = 0; i < rounds; ++i, at = at + Nanos::FromMillis(1)) {
    std::vector<Frame> frames;
    for (int depth = 0; depth < 12; ++depth) {
      frames.push_back(Python(fmt::format("f{}", (i >> (depth / 2)) % (depth + 2)), "long.py", 10 * depth + i % 3, 1));
    }
    scene.writer.AddSample(main, at, scene.Stack(frames), SampleQuality::kSeen);
    if (i % 500 == 0 && scene.writer.Flush().has_error()) {
      return {};
    }
  }
  return scene.End(at, static_cast<uint64_t>(rounds));
}

std::string CallTrace() {
  Scene scene;
  scene.Process(4000, 1, {"python3", "train.py"});
  const ThreadHandle main = scene.Thread(4000, 4000, "MainThread");
  const ThreadHandle loader = scene.Thread(4000, 4001, "loader");
  const auto function = [&](const std::string& name, int line, FrameKind kind = FrameKind::kPython) {
    Frame frame = Python(name, kind == FrameKind::kPython ? "/srv/job/train.py" : "", line, line);
    frame.kind = kind;
    return scene.stacks.InternFrame(frame);
  };
  TraceWriter& writer = scene.writer;
  const auto begin = [&](ThreadHandle thread, int64_t at, FrameId what, CallEntry entry = CallEntry::kCall,
                         uint64_t generator = 0) {
    writer.BeginCall(thread, kStart + Nanos(at), what, entry, GeneratorId(generator));
  };
  const auto end = [&](ThreadHandle thread, int64_t at, CallExit exit = CallExit::kReturn) {
    writer.EndCall(thread, kStart + Nanos(at), exit);
  };
  begin(main, 0, function("<module>", 1), CallEntry::kRunning);
  begin(loader, 500, function("load", 8));
  begin(main, 1000, function("Trainer.train", 18));
  begin(main, 1100, function("fib", 40));
  begin(main, 1200, function("fib", 40));
  end(main, 1250);
  begin(main, 1300, function("len", 0, FrameKind::kC));
  end(main, 1320);
  end(main, 1400);
  end(main, 2000);
  writer.BeginStep(main, kStart + Nanos(2000), 0);
  begin(main, 2100, function("batches", 50), CallEntry::kCall, 1);
  end(main, 2200, CallExit::kYield);
  begin(main, 2300, function("batches", 50), CallEntry::kResume, 1);
  end(main, 2500);
  begin(main, 3000, function("nn.Module: Linear_0 (layers.3)", 0, FrameKind::kModule));
  end(main, 3500, CallExit::kUnwind);
  writer.BeginStep(main, kStart + Nanos(3500), 1);
  writer.AddLostCalls(main, kStart + Nanos(4000), kStart + Nanos(5000), 100);
  end(loader, 5500);
  Accounting accounting;
  accounting.wall = Nanos(6000);
  accounting.call_events = 18;
  accounting.call_events_lost = 100;
  accounting.call_gaps = 1;
  accounting.event_cost_ns = 10;
  accounting.c_event_cost_ns = 4;
  const auto ended = writer.End(kStart + Nanos(6000), accounting, {});
  return ended.has_error() ? std::string() : scene.sink.bytes();
}

}  // namespace ptrace_prof
