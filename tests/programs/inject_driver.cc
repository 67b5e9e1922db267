// Brings a stub into a process N times, takes its channel, arms it, and has it leave. This uses all of attach/inject,
// without a capture around it. For tests and for figures.
//
//   inject_driver [--count N] [--timeout-ms N] [--events N] [--force] [--wait] [--no-leave]
//                 [--by STRATEGY] [--without-queue] PID
//
// Prints one line for each time: "ok <way> loaded|resident <us until ready> <longest stop in us> <stops> <events>", or
// "error <code> <reason> <message>" and exit status 1. --wait: goes on only at the end of its standard input.
// --no-leave: ends without asking the stub to leave. --without-queue: as if its queue of calls were not known.
#include <getopt.h>
#include <poll.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attach/inject/injection.h"
#include "attach/proc/process_memory.h"
#include "attach/ptrace/stopped_threads.h"
#include "daemon/collector/calls/stub_boot.h"
#include "daemon/collector/target/script_keeper.h"

namespace ptrace_prof {
namespace {

constexpr uint32_t kRings = 64;
constexpr uint32_t kRecords = 4096;

struct Wishes {
  Pid pid;
  int count = 1;
  Nanos timeout = Nanos::FromSeconds(10);
  bool leave = true;
  bool force = false;
  bool wait = false;
  bool without_queue = false;
  const char* by = "";  // "pending call", "frame hook", "script"; empty: the default
  uint64_t events = 0;  // to wait for, once armed
};

void Pause() {
  const timespec pause{0, 200'000};
  ::nanosleep(&pause, nullptr);
}

uint64_t Nonce() {
  uint64_t nonce = 0;
  while (nonce == 0 && ::getrandom(&nonce, sizeof nonce, 0) == sizeof nonce) {
  }
  return nonce;
}

uint64_t LeaseFromNow(Nanos patience = Nanos()) {
  return static_cast<uint64_t>((MonotonicNow() + patience + Nanos::FromSeconds(1)).value);
}

uint64_t DrainAll(Channel& channel) {
  std::vector<pp_record> records(kRecords);
  uint64_t events = 0;
  for (RingReader& ring : channel.rings()) {
    for (size_t count = 0; (count = ring.Drain(records)) > 0;) {
      events += count;
    }
  }
  return events;
}

Result<void> Arm(const Wishes& wishes, RemoteMemory& memory, Channel& channel) {
  RemoteWriter writer(wishes.pid);
  channel.TouchAll();
  PP_ASSIGN_OR_RETURN(const StoppedThreads stopped, StoppedThreads::StopAll(wishes.pid, Nanos::FromSeconds(5)));
  return channel.Arm(memory, writer);
}

Result<void> Leave(const InjectionTarget& target, RemoteMemory& memory, Channel& channel, Nanos deadline) {
  RemoteWriter writer(target.pid);
  PP_RETURN_IF_ERROR(channel.Disarm(memory, writer));
  channel.AskToLeave();
  std::optional<QueuedCall> call;
  if (!target.no_queue && !target.queue.breaker.holds_traced) {  // else it leaves at its next event
    PP_ASSIGN_OR_RETURN(QueuedCall queued, QueueLeave(target, memory, channel, deadline));
    call.emplace(std::move(queued));
  }
  while (channel.state() != ChannelState::kLeft) {
    if (MonotonicNow() > deadline) {
      return Error{Code::kDeadlineExceeded, "the stub did not leave", ""};
    }
    if (call) {
      PP_RETURN_IF_ERROR(call->Ring());
    }
    Pause();
  }
  return {};  // the call is withdrawn, if it still waits
}

void Report(const InjectionReport& report, uint64_t events) {
  std::printf("ok %s %s %lld %lld %u %llu\n", std::string(report.way).c_str(), report.resident ? "resident" : "loaded",
              static_cast<long long>(report.took.value / 1000),
              static_cast<long long>(report.stops.longest.value / 1000), report.stops.stops,
              static_cast<unsigned long long>(events));
  std::fflush(stdout);
}

// Waits for the end of our input, and keeps the lease meanwhile.
void WaitForEnd(Channel& channel) {
  char byte = 0;
  pollfd input{STDIN_FILENO, POLLIN, 0};
  while (::poll(&input, 1, 100) == 0 || ::read(STDIN_FILENO, &byte, 1) > 0) {
    channel.RenewLease(LeaseFromNow());
  }
}

Result<void> Once(const Wishes& wishes, RemoteMemory& memory, StubFile& stub, ScriptFiles& scripts) {
  PP_ASSIGN_OR_RETURN(const PythonProcess process, PythonProcess::Open(wishes.pid, memory));
  PP_ASSIGN_OR_RETURN(InjectionTarget target, DescribeForInjection(wishes.pid, memory, process));
  target.force = wishes.force;
  target.only = wishes.by;
  target.script_files = &scripts;
  if (wishes.without_queue) {
    target.no_queue = Because(Reason::kUnknownQueueLayout, "its queue is not to be known");
  }
  PP_ASSIGN_OR_RETURN(pp_boot boot, DescribeForStub(wishes.pid, memory, process));
  boot.nonce = Nonce();
  boot.ring_count = kRings;
  boot.ring_records = kRecords;
  boot.clock = PP_CLOCK_MONOTONIC;
  boot.lease = LeaseFromNow(wishes.timeout);
  stub.Fill(boot);
  const Nanos deadline = MonotonicNow() + wishes.timeout;
  PP_ASSIGN_OR_RETURN(Injection injection, Inject(target, memory, stub, {deadline, {}}));
  injection.channel.RenewLease(LeaseFromNow());
  uint64_t events = 0;
  if (wishes.events > 0) {
    PP_RETURN_IF_ERROR(Arm(wishes, memory, injection.channel));
    while ((events += DrainAll(injection.channel)) < wishes.events && MonotonicNow() < deadline) {
      injection.channel.RenewLease(LeaseFromNow());
      Pause();
    }
  }
  if (wishes.wait) {
    Report(injection.report, events);
    WaitForEnd(injection.channel);
  }
  if (wishes.leave) {
    PP_RETURN_IF_ERROR(Leave(target, memory, injection.channel, deadline));
    events += DrainAll(injection.channel);
  }
  if (!wishes.wait) {
    Report(injection.report, events);
  }
  return {};
}

int Run(const Wishes& wishes) {
  Result<StubFile> stub = StubFile::Carried();
  if (stub.has_error()) {
    std::printf("error %s %s\n", std::string(CodeName(stub.error().code)).c_str(), stub.error().message.c_str());
    return 1;
  }
  auto scripts = ScriptKeeper::Start(wishes.pid);
  if (scripts.has_error()) {
    std::printf("error %s\n", scripts.error().message.c_str());
    return 1;
  }
  ProcessMemory memory(wishes.pid);
  for (int i = 0; i < wishes.count; ++i) {
    const Result<void> once = Once(wishes, memory, stub.value(), *scripts.value());
    if (once.has_error()) {
      std::printf("error %s %s %s\n", std::string(CodeName(once.error().code)).c_str(),
                  std::string(ReasonName(ReasonOf(once.error()))).c_str(), once.error().message.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) {
  using ptrace_prof::Nanos;
  using ptrace_prof::Pid;
  const option options[] = {
      {"count", 1, nullptr, 'c'},  {"timeout-ms", 1, nullptr, 't'},    {"no-leave", 0, nullptr, 'n'},
      {"events", 1, nullptr, 'e'}, {"force", 0, nullptr, 'f'},         {"wait", 0, nullptr, 'w'},
      {"by", 1, nullptr, 'b'},     {"without-queue", 0, nullptr, 'q'}, {}};
  ptrace_prof::Wishes wishes;
  for (int choice = 0; (choice = ::getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    switch (choice) {
      case 'c': wishes.count = std::atoi(optarg); break;
      case 't': wishes.timeout = Nanos::FromMillis(std::atoi(optarg)); break;
      case 'n': wishes.leave = false; break;
      case 'e': wishes.events = std::strtoull(optarg, nullptr, 10); break;
      case 'b': wishes.by = optarg; break;
      case 'q': wishes.without_queue = true; break;
      case 'w': wishes.wait = true; break;
      case 'f': wishes.force = true; break;
      default: return 2;
    }
  }
  if (argc - optind != 1) {
    return 2;
  }
  wishes.pid = Pid(std::atoi(argv[optind]));
  return ptrace_prof::Run(wishes);
}
