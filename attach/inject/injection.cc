#include "attach/inject/injection.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstring>
#include <optional>

#include "attach/inject/resident_stub.h"
#include "attach/proc/proc_file.h"

namespace ptrace_prof {
namespace {

// Both texts go through /proc/self/fd of the target.
Result<void> CheckProc(Pid pid) {
  const std::string path = ProcPath(pid, "root/proc/self");
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    return {};
  }
  return Error{
      Code::kFailedPrecondition,
      fmt::format("process {} has no /proc in its root directory, through which a tracer is loaded", pid.value),
      "Mount one there, or sample it instead."};
}

// The channel of one capture, once it is there and ready.
class ChannelTaker {
 public:
  ChannelTaker(Pid pid, RemoteMemory& memory, const TargetFiles& files, const pp_boot& boot)
      : pid_(pid),
        memory_(memory),
        files_(files),
        shape_{boot.ring_count, boot.ring_records, boot.nonce},
        name_(ChannelFileName(boot.nonce)) {}

  // False: not yet.
  Result<bool> Look() {
    constexpr int kAllEvery = 16;  // its number may be that of a file that was closed meanwhile
    if (!file_.is_open()) {
      const bool all = ++looks_ % kAllEvery == 0;
      PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> found, files_.FindMemfds(name_, all));
      if (found.empty() && all) {  // a stub that fails closes its file at once
        PP_ASSIGN_OR_RETURN(std::optional<Error> failure, ResidentStub::FailureOf(pid_, memory_, shape_.nonce));
        if (failure) {
          return std::move(*failure);
        }
      }
      Result<UniqueFd> taken = found.empty() ? UniqueFd() : files_.Take(found.front());
      if (taken.has_error() || !taken.value().is_open()) {
        return false;
      }
      file_ = std::move(taken).value();
      PP_RETURN_IF_ERROR(LockFile(pid_, file_));
    }
    Result<Channel> channel = Channel::Take(file_, shape_);
    if (channel.has_error()) {
      return channel.error().code == Code::kUnavailable ? Result<bool>(false) : std::move(channel).error();
    }
    channel_ = std::move(channel).value();
    return true;
  }
  Injection Take(InjectionReport report) { return {std::move(*channel_), std::move(file_), report}; }

 private:
  Pid pid_;
  RemoteMemory& memory_;
  const TargetFiles& files_;
  ChannelShape shape_;
  std::string name_;
  int looks_ = 0;
  UniqueFd file_;
  std::optional<Channel> channel_;
};

// Entering a stub that is there, seen as a text that runs.
class EnteringStub final : public RunningText {
 public:
  explicit EnteringStub(QueuedCall call) : call_(std::move(call)) {}
  Result<bool> Taken() override { return call_.Taken(); }
  Result<void> Remind() override { return call_.Ring(); }
  void Finish() override {}
  const StopCost& cost() const override { return call_.cost(); }

 private:
  QueuedCall call_;
};

Result<StopCost> Enter(const InjectionTarget& target, RemoteMemory& memory, const ResidentStub& stub,
                       const pp_boot& boot, const Patience& patience, ChannelTaker& taker) {
  if (stub.busy) {
    return Error{Code::kAlreadyExists, fmt::format("process {} is being traced already", target.pid.value),
                 "Wait for the end of that capture, or cancel it."};
  }
  RemoteWriter writer(target.pid);
  PP_RETURN_IF_ERROR(stub.Tell(memory, writer, boot));
  CallGuard guard{stub.boot + offsetof(pp_boot, nonce), {}, stub.boot + offsetof(pp_boot, target_pid)};
  std::memcpy(guard.bytes.data(), &boot.nonce, sizeof boot.nonce);
  PP_ASSIGN_OR_RETURN(QueuedCall call, QueuedCall::Put(target.pid, memory, target.queue, {stub.enter, RemoteAddr()},
                                                       guard, patience.deadline));
  EnteringStub entering(std::move(call));
  PP_RETURN_IF_ERROR(AwaitEffect(target, entering, patience, [&] { return taker.Look(); }));
  return entering.cost();
}

}  // namespace

Result<Injection> Inject(const InjectionTarget& target, RemoteMemory& memory, const StubFile& image,
                         const Patience& patience) {
  const Nanos begin = MonotonicNow();
  InjectionReport report;
  PP_ASSIGN_OR_RETURN(const InjectionStrategy* strategy, ChooseStrategy(target));
  PP_RETURN_IF_ERROR(CheckProc(target.pid));
  PP_ASSIGN_OR_RETURN(const TargetFiles files, TargetFiles::Of(target.pid));
  ChannelTaker taker(target.pid, memory, files, image.boot());
  PP_ASSIGN_OR_RETURN(const std::optional<ResidentStub> resident, ResidentStub::Find(target.pid, memory));
  if (resident) {
    report.way = "resident";
    PP_ASSIGN_OR_RETURN(report.stops, Enter(target, memory, *resident, image.boot(), patience, taker));
  } else {
    report.way = strategy->name;
    Delivery delivery(target, memory, files, image, patience);
    PP_RETURN_IF_ERROR(delivery.Run(*strategy, [&] { return taker.Look(); }));
    report.stops = delivery.cost();
  }
  report.took = MonotonicNow() - begin;
  return taker.Take(report);
}

Result<QueuedCall> QueueLeave(const InjectionTarget& target, RemoteMemory& memory, const Channel& channel,
                              Nanos deadline) {
  CallGuard guard;
  guard.address = channel.leave_entry();  // to leave late is to leave
  if (memory.Read(guard.address, guard.bytes.data(), guard.bytes.size()) != ReadStatus::kOk) {
    return Error{Code::kDataLoss, "the stub does not say how to leave", ""};
  }
  return QueuedCall::Put(target.pid, memory, target.queue, {channel.leave_entry(), RemoteAddr()}, guard, deadline);
}

}  // namespace ptrace_prof
