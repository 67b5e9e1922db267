#include "attach/inject/delivery.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <utility>

#include "attach/inject/bootstrap_text.h"
#include "attach/inject/file_lock.h"
#include "attach/proc/proc_file.h"
#include "attach/ptrace/held_start.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxStrays = 4;   // closed by the loading text
constexpr size_t kMaxClosed = 32;  // closed by a text of their own; the next capture closes the rest
// How long a thread that has loaded the last stub may take to close its file. A file that exists for longer is a stray.
// Closing a file too early would make two threads close the same number, which may be that of our own file by then.
constexpr Nanos kClosingTime = Nanos::FromMillis(300);
constexpr Nanos kClosingPause = Nanos::FromMillis(1);
constexpr Nanos kClosingTurn = Nanos::FromMillis(100);
constexpr int kClosingTurns = 5;
constexpr int kMostClosingTurns = 30;  // if signals of the job cut turns short
constexpr int kMostAgain = 8;  // whole loadings cut short by signal handlers of the job; in the worst case seen half of
                               // them were
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// We set the size of the file, because a target would die of SIGXFSZ beyond its own limit (RLIMIT_FSIZE).
Result<void> CheckMayGrow(size_t size) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < size) {
    return Because(
        Reason::kTracerNotLoaded,
        fmt::format("ptrace-prof may write files of at most {} bytes (RLIMIT_FSIZE), but its tracer has {} bytes",
                    limit.rlim_cur, size),
        "raise that limit for ptrace-prof (ulimit -f unlimited), or sample instead");
  }
  return {};
}

}  // namespace

Result<void> Delivery::CheckTarget(Pid pid) {
  const std::string path = ProcPath(pid, "root/proc/self");
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode)) {
    return {};
  }
  return Because(
      Reason::kNoProcInTarget,
      fmt::format("process {} has no /proc in its root directory, and the tracer is loaded through it", pid.value),
      "Mount it there, or sample the process instead.", ThingOf(pid));
}

Result<void> Delivery::AwaitClosing() const {
  const Nanos deadline = MonotonicNow() + kClosingTime;
  for (;;) {
    PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> open, files_.FindMemfds(package_.kind->file_prefix, true));
    if (open.empty() || MonotonicNow() > deadline) {
      return {};
    }
    PauseOrStep(kClosingPause);
  }
}

Result<void> Delivery::Run(const EffectSeen& seen) {
  Result<void> loaded = RunOnce(seen);
  for (int again = 0; again < kMostAgain && MayTryAgain(loaded); ++again) {
    loaded = RunOnce(seen);
  }
  return loaded;
}

// If a signal handler of the job raises an exception in our text, it goes to the job, and the text ends early.
bool Delivery::MayTryAgain(const Result<void>& loaded) const {
  return loaded.has_error() && report_.cut_short && MonotonicNow() < patience_.deadline &&
         (!patience_.go_on || patience_.go_on());
}

Result<void> Delivery::RunOnce(const EffectSeen& seen) {
  PP_RETURN_IF_ERROR(AwaitClosing());
  PP_ASSIGN_OR_RETURN(const TargetFile file, MakeFile());
  PP_ASSIGN_OR_RETURN(const UniqueFd held, FillFile(file));  // keep it open with its lock until the stub is loaded
  // If two collectors began at once, at least one of them sees the other here.
  PP_ASSIGN_OR_RETURN(std::vector<int32_t> strays,
                      FindStrays(target_.pid, files_, package_.kind->file_prefix, file.number));
  if (strays.size() > kMaxStrays) {
    PP_RETURN_IF_ERROR(CloseAll(std::exchange(strays, {})));
  }
  const LoadRequest request{target_.own_pid,
                            file.number,
                            file.name,
                            std::move(strays),
                            package_.kind->file_prefix,
                            package_.kind->module,
                            static_cast<uint32_t>(package_.nonce),
                            target_.signal_again};
  Result<void> loaded = RunText(target_, memory_, LoadText(request), patience_, seen, &report_);
  const bool ran = loaded.has_value() || loaded.error().code == Code::kFailedPrecondition;
  if (ran && target_.signal_handlers) {
    PP_RETURN_IF_ERROR(CloseAll({file.number}));
  }
  return loaded;
}

Result<void> Delivery::CloseStrays() {
  const std::string_view prefix = package_.kind->file_prefix;
  PP_ASSIGN_OR_RETURN(std::vector<int32_t> strays, FindStrays(target_.pid, files_, prefix, -1));
  if (strays.empty()) {
    return {};
  }
  PP_RETURN_IF_ERROR(AwaitClosing());
  PP_ASSIGN_OR_RETURN(const std::vector<int32_t> still, FindStrays(target_.pid, files_, prefix, -1));
  std::erase_if(strays, [&](int32_t number) { return std::ranges::find(still, number) == still.end(); });
  return CloseAll(std::move(strays));
}

Result<std::vector<int32_t>> Delivery::StillOpen(const std::vector<int32_t>& numbers) const {
  PP_ASSIGN_OR_RETURN(const std::vector<TargetFile> open, files_.FindMemfds(package_.kind->file_prefix, true));
  std::vector<int32_t> left;
  std::ranges::copy_if(numbers, std::back_inserter(left), [&](int32_t number) {
    return std::ranges::find(open, number, &TargetFile::number) != open.end();
  });
  return left;
}

// A text may be about to close them. A signal handler of the job may end that text, or this one, just before.
Result<void> Delivery::CloseAll(std::vector<int32_t> numbers) {
  RunReport closing;
  closing.cut_short = report_.cut_short;
  Result<void> done = CloseInTurns(std::move(numbers), &closing);
  report_.stops.Add(closing.stops);
  return done;
}

Result<void> Delivery::CloseInTurns(std::vector<int32_t> numbers, RunReport* report) {
  numbers.resize(std::min(numbers.size(), kMaxClosed));
  const EffectSeen closed = [&]() -> Result<bool> {
    PP_ASSIGN_OR_RETURN(const std::vector<int32_t> left, StillOpen(numbers));
    return left.empty();
  };
  for (int turn = 0; turn < (report->cut_short ? kMostClosingTurns : kClosingTurns); ++turn) {
    const Nanos deadline = MonotonicNow() + (turn == 0 || !report->cut_short ? kClosingTurn : Nanos());
    do {
      PP_ASSIGN_OR_RETURN(numbers, StillOpen(numbers));
      if (numbers.empty()) {
        return {};
      }
      PauseOrStep(kClosingPause);
    } while (MonotonicNow() < deadline);
    const Patience patience{MonotonicNow() + kClosingTurn, patience_.go_on, patience_.is_ready};
    Result<void> done = RunText(target_, memory_, CloseText(numbers, package_.kind->file_prefix, target_.signal_again),
                                patience, closed, report);
    if (done.has_error() && (done.error().code == Code::kGone || done.error().code == Code::kCancelled)) {
      return done;
    }
  }
  return {};  // the next capture closes them
}

Result<TargetFile> Delivery::MakeFile() {
  const std::string name = StubFileName(*package_.kind, package_.nonce);
  const size_t size = package_.bytes.size();
  PP_RETURN_IF_ERROR(CheckMayGrow(size));
  const std::string text = MakeFileText({target_.own_pid, name, target_.memfd_create, target_.signal_again});
  TargetFile file;
  int looks = 0;
  const EffectSeen seen = [&]() -> Result<bool> {
    constexpr int kAllEvery = 16;  // also look at known numbers: one may be reused after a close
    PP_ASSIGN_OR_RETURN(std::vector<TargetFile> found, files_.FindMemfds(name, ++looks % kAllEvery == 0));
    for (TargetFile& one : found) {  // several, if earlier texts were cut short
      const Result<UniqueFd> taken = files_.Take(one);
      if (taken.has_error()) {
        continue;
      }
      if (::ftruncate(taken.value().get(), static_cast<off_t>(size)) != 0) {
        return ErrnoError(errno, "cannot set the size of the file that the target opened for the tracer");
      }
      file = std::move(one);
      return true;
    }
    return false;
  };
  PP_RETURN_IF_ERROR(RunText(target_, memory_, text, patience_, seen, &report_));
  return file;
}

Result<UniqueFd> Delivery::FillFile(const TargetFile& file) const {
  PP_ASSIGN_OR_RETURN(UniqueFd fd, files_.Take(file));
  PP_RETURN_IF_ERROR(LockFile(target_.pid, fd));
  struct stat info {};
  // Once the file cannot shrink, our accesses cannot fault.
  if (::fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0 || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) != package_.bytes.size()) {
    return Because(Reason::kTracerLost, "the target opened a wrong file for the tracer");
  }
  void* memory = ::mmap(nullptr, package_.bytes.size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (memory == MAP_FAILED) {
    return ErrnoError(errno, "cannot write the file that the target opened for the tracer");
  }
  std::memcpy(memory, package_.bytes.data(), package_.bytes.size());
  ::munmap(memory, package_.bytes.size());
  return fd;
}

}  // namespace ptrace_prof
