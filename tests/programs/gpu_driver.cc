// Brings the GPU shim into a process N times, has it record, takes its buffers, and has it leave. This uses all of
// attach/inject, without a capture around it. For tests and for figures.
//
//   gpu_driver [--count N] [--timeout-ms N] [--kernels N] [--detail coarse|default|full] [--null] [--force]
//              [--keep] [--no-leave] [--wait] [--no-drain] [--slots N] [--lease-ms N]
//              [--launch-rate N|all [--graph-rate N|all]] PID
//
// For each time it prints one line of JSON when it records ({"recording": …}) and one at the end ({"left": …}); or
// {"error": …} and exit status 1. --kernels: waits for that many records of kernels. --wait: records until the end of
// its standard input. --no-drain: buffers are not taken. --no-leave: ends without asking the shim to leave. --keep:
// CUPTI is not taken down. --launch-rate: launches per second and thread whose Python stack is taken.
#include <fmt/format.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "attach/inject/gpu_injection.h"
#include "attach/proc/process_memory.h"
#include "daemon/collector/calls/stub_boot.h"
#include "daemon/collector/gpu/gpu_shim_boot.h"
#include "daemon/collector/target/script_keeper.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kConcurrentKernel = 10;

struct Wishes {
  Pid pid;
  int count = 1;
  Nanos timeout = Nanos::FromSeconds(10);
  uint64_t kernels = 0;
  GpuWishes gpu{.finalize = true};  // on doubles
  bool leave = true;
  bool wait = false;
  bool drain = true;
};

uint64_t Nonce() {
  uint64_t nonce = 0;
  while (nonce == 0 && ::getrandom(&nonce, sizeof nonce, 0) == sizeof nonce) {
  }
  return nonce;
}

// Counts records by their kinds, for the kinds with a known stride.
class Tally {
 public:
  explicit Tally(const GpuArena& arena) : strides_(arena.library().strides) {}

  void Add(const GpuBatch& batch) {
    ++batches_;
    for (size_t at = 0; at + sizeof(uint32_t) <= batch.records.size();) {
      uint32_t kind = 0;
      std::memcpy(&kind, batch.records.data() + at, sizeof kind);
      if (kind == 0 || kind >= strides_.size() || strides_[kind] == 0) {
        broken_ += kind != 0 ? 1 : 0;
        return;
      }
      ++records_[kind];
      at += strides_[kind];
    }
  }
  uint64_t kernels() const { return records_[kConcurrentKernel]; }

  std::string Text() const {
    std::string kinds;
    for (size_t kind = 0; kind < records_.size(); ++kind) {
      if (records_[kind] > 0) {
        kinds += (kinds.empty() ? "\"" : ", \"") + std::to_string(kind) + "\": " + std::to_string(records_[kind]);
      }
    }
    return "\"batches\": " + std::to_string(batches_) + ", \"broken\": " + std::to_string(broken_) + ", \"kinds\": {" +
           kinds + "}";
  }

 private:
  std::array<uint16_t, PP_GPU_KINDS> strides_;
  std::array<uint64_t, PP_GPU_KINDS> records_{};
  uint64_t batches_ = 0;
  uint64_t broken_ = 0;
};

void Say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return quoted + "\"";
}

void SayRecording(const GpuInjection& injection, Nanos begin) {
  const GpuLibrary library = injection.arena.library();
  std::string strides;
  for (size_t kind = 0; kind < library.strides.size(); ++kind) {
    strides += (kind == 0 ? "" : ", ") + std::to_string(library.strides[kind]);
  }
  Say("{\"recording\": {\"resident\": " + std::string(injection.report.resident ? "true" : "false") +
      ", \"injected_us\": " + std::to_string(injection.report.took.value / 1000) + ", \"recording_us\": " +
      std::to_string((MonotonicNow() - begin).value / 1000) + ", \"backend\": " + std::to_string(library.backend) +
      ", \"version\": " + std::to_string(library.version) + ", \"time\": " + std::to_string(library.record_time) +
      ", \"thread_ids\": " + (library.system_thread_ids ? "true" : "false") + ", \"strides\": [" + strides + "]}}");
}

void SayLeft(const GpuArena& arena, const Tally& tally, size_t clocks, size_t launches) {
  const GpuCounts counts = arena.counts();
  Say("{\"left\": {\"cause\": " + std::to_string(arena.leave_cause()) +
      ", \"how\": " + std::to_string(arena.leave_how()) + ", \"handed_out\": " + std::to_string(counts.handed_out) +
      ", \"declined\": " + std::to_string(counts.declined) + ", \"discarded\": " + std::to_string(counts.discarded) +
      ", \"completed\": " + std::to_string(counts.completed) + ", \"dropped\": " + std::to_string(counts.dropped) +
      ", \"clocks\": " + std::to_string(clocks) + ", \"launches\": " + std::to_string(launches) +
      ", \"stacks_refused\": " + std::to_string(counts.stacks_refused) +
      ", \"stacks_lost\": " + std::to_string(counts.stacks_lost) + ", " + tally.Text() + "}}");
}

// Whether there is more to wait for.
bool GoesOn(const Wishes& wishes, const Tally& tally, Nanos deadline) {
  char byte = 0;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (wishes.wait) {
    return ::poll(&input, 1, 1) == 0 || ::read(STDIN_FILENO, &byte, 1) > 0;
  }
  const timespec pause{0, 1'000'000};
  ::nanosleep(&pause, nullptr);
  return tally.kernels() < wishes.kernels && MonotonicNow() < deadline;
}

Error AttachTimeout(Pid pid, const GpuArena& arena) {
  return Because(Reason::kAttachTimeout,
                 fmt::format("CUPTI did not come up in process {} in time: it is still {}", pid.value, arena.step()),
                 "Try again; what hangs there now goes away by itself as soon as it can.", ThingOf(pid));
}

// Waits until records come. Otherwise returns the reason, after asking the shim to leave.
Result<void> AwaitRecording(Pid pid, GpuArena& arena, Nanos deadline) {
  for (;;) {
    arena.RenewLease();
    switch (arena.state()) {
      case GpuState::kRecording: return {};
      case GpuState::kFailed:
      case GpuState::kLeft: {
        Error error = arena.Failure(pid);
        arena.AskToLeave(GpuLeave::kNow);  // the shim has been seen
        return error.code != Code::kOk ? error : Error{Code::kCancelled, "the shim was asked to leave", ""};
      }
      case GpuState::kNone:
      case GpuState::kAttaching:
      case GpuState::kDetaching: break;
    }
    if (::kill(pid.value, 0) != 0) {
      return Because(Reason::kTargetExited, ThingOf(pid) + " has ended", "", ThingOf(pid));
    }
    if (MonotonicNow() > deadline) {
      arena.AskToLeave(GpuLeave::kNow);
      return AttachTimeout(pid, arena);
    }
    ::poll(nullptr, 0, 1);
  }
}

Result<void> Record(const Wishes& wishes, GpuInjection& injection, Nanos begin) {
  GpuArena& arena = injection.arena;
  const Nanos deadline = begin + wishes.timeout;
  arena.TouchAll();
  PP_RETURN_IF_ERROR(AwaitRecording(wishes.pid, arena, deadline));
  SayRecording(injection, begin);
  Tally tally(arena);
  size_t launches = 0;
  const auto drain = [&] {
    if (wishes.drain) {
      launches += arena.launches().Drain([](const GpuLaunchNote&) {});
      arena.Drain([&](const GpuBatch& batch) { tally.Add(batch); });
    }
  };
  while (arena.state() == GpuState::kRecording && GoesOn(wishes, tally, deadline)) {
    arena.RenewLease();
    drain();
  }
  if (!wishes.leave) {
    return {};
  }
  arena.AskToLeave();
  PP_RETURN_IF_ERROR(AwaitLeft(wishes.pid, arena, MonotonicNow() + wishes.timeout, drain));
  SayLeft(arena, tally, arena.NewClocks().size(), launches);
  const Error failure = arena.Failure(wishes.pid);
  return failure.code == Code::kOk ? Result<void>() : failure;
}

Result<void> Once(const Wishes& wishes, RemoteMemory& memory, GpuShimFile& shim, ScriptFiles& scripts) {
  const Nanos begin = MonotonicNow();
  PP_ASSIGN_OR_RETURN(const PythonProcess process, PythonProcess::Open(wishes.pid, memory));
  PP_ASSIGN_OR_RETURN(InjectionTarget target, DescribeForInjection(wishes.pid, memory, process));
  target.force = wishes.gpu.force;
  target.script_files = &scripts;
  PP_ASSIGN_OR_RETURN(pp_gpu_boot boot, DescribeForGpuShim(wishes.pid, memory, process, wishes.gpu));
  boot.nonce = Nonce();
  shim.Fill(boot);
  PP_ASSIGN_OR_RETURN(GpuInjection injection, InjectGpu(target, memory, shim, {begin + wishes.timeout, {}}));
  return Record(wishes, injection, begin);
}

int Fail(const Error& error) {
  Say("{\"error\": {\"code\": " + Quoted(CodeName(error.code)) +
      ", \"reason\": " + Quoted(ReasonName(ReasonOf(error))) + ", \"message\": " + Quoted(error.message) +
      ", \"remedy\": " + Quoted(error.remedy) + "}}");
  return 1;
}

int Run(const Wishes& wishes) {
  Result<GpuShimFile> shim = GpuShimFile::Carried();
  if (shim.has_error()) {
    return Fail(shim.error());
  }
  auto scripts = ScriptKeeper::Start(wishes.pid);
  if (scripts.has_error()) {
    return Fail(scripts.error());
  }
  ProcessMemory memory(wishes.pid);
  for (int i = 0; i < wishes.count; ++i) {
    const Result<void> once = Once(wishes, memory, shim.value(), *scripts.value());
    if (once.has_error()) {
      return Fail(once.error());
    }
  }
  return 0;
}

GpuDetail DetailNamed(std::string_view name) {
  return name == "coarse" ? GpuDetail::kCoarse : name == "full" ? GpuDetail::kFull : GpuDetail::kDefault;
}

uint32_t RateNamed(std::string_view text) {
  return text == "all" ? kEveryLaunch : static_cast<uint32_t>(std::strtoul(text.data(), nullptr, 10));
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  using ptrace_prof::Nanos;
  const option options[] = {
      {"count", 1, nullptr, 'c'},       {"timeout-ms", 1, nullptr, 't'}, {"kernels", 1, nullptr, 'k'},
      {"detail", 1, nullptr, 'd'},      {"null", 0, nullptr, '0'},       {"force", 0, nullptr, 'f'},
      {"keep", 0, nullptr, 'K'},        {"no-leave", 0, nullptr, 'n'},   {"wait", 0, nullptr, 'w'},
      {"no-drain", 0, nullptr, 'D'},    {"slots", 1, nullptr, 's'},      {"lease-ms", 1, nullptr, 'l'},
      {"launch-rate", 1, nullptr, 'r'}, {"graph-rate", 1, nullptr, 'g'}, {}};
  ptrace_prof::Wishes wishes;
  for (int choice = 0; (choice = ::getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    switch (choice) {
      case 'c': wishes.count = std::atoi(optarg); break;
      case 't': wishes.timeout = Nanos::FromMillis(std::atoi(optarg)); break;
      case 'k': wishes.kernels = std::strtoull(optarg, nullptr, 10); break;
      case 'd': wishes.gpu.detail = ptrace_prof::DetailNamed(optarg); break;
      case '0': wishes.gpu.backend = PP_GPU_BACKEND_NULL; break;
      case 'f': wishes.gpu.force = true; break;
      case 'K': wishes.gpu.finalize = false; break;
      case 'n': wishes.leave = false; break;
      case 'w': wishes.wait = true; break;
      case 'D': wishes.drain = false; break;
      case 's': wishes.gpu.slots = static_cast<uint32_t>(std::atoi(optarg)); break;
      case 'l': wishes.gpu.lease = Nanos::FromMillis(std::atoi(optarg)); break;
      case 'r': wishes.gpu.launch_rate = wishes.gpu.graph_rate = ptrace_prof::RateNamed(optarg); break;
      case 'g': wishes.gpu.graph_rate = ptrace_prof::RateNamed(optarg); break;
      default: return 2;
    }
  }
  if (argc - optind != 1) {
    return 2;
  }
  wishes.pid = ptrace_prof::Pid(std::atoi(argv[optind]));
  return ptrace_prof::Run(wishes);
}
