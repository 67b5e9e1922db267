#include "client/cli/record/trace_ready.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "client/cli/export/export_options.h"
#include "daemon/export/exporter.h"

extern char** environ;

namespace ptrace_prof {
namespace {

constexpr std::string_view kRemedy =
    "give tensorboard:FOLDER, tensorboard-gz:FOLDER (at most one of them) or exec:COMMAND";

Error Wrong(std::string message) {
  return Error{Code::kInvalidArgument, "--on-trace-ready: " + std::move(message), std::string(kRemedy)};
}

Result<void> AddHandler(const std::string& text, TraceReadyPlan& plan) {
  const size_t colon = text.find(':');
  const std::string_view kind = std::string_view(text).substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (value.empty() || (kind != "tensorboard" && kind != "tensorboard-gz" && kind != "exec")) {
    return Wrong(fmt::format("'{}' is not known", text));
  }
  if (kind == "exec") {
    plan.commands.push_back(value);
    return {};
  }
  if (!plan.folder.empty()) {
    return Wrong("there are several folders");
  }
  plan.folder = value;
  plan.is_compressed = kind == "tensorboard-gz";
  return {};
}

std::string HostName() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

// Its standard input is empty, and signals act as for any program. Nothing if it succeeded, else what happened.
std::optional<std::string> RunCommand(const std::string& command, const std::string& path) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string program = command;
  std::string argument = path;
  const std::array<char*, 3> words = {program.data(), argument.data(), nullptr};
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, program.c_str(), &actions, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    return fmt::format("cannot be run: {}", std::strerror(error));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return fmt::format("its end was not seen: {}", std::strerror(errno));
    }
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("was ended by signal {}", WTERMSIG(status));
  }
  return WEXITSTATUS(status) == 0 ? std::nullopt : std::optional(fmt::format("exited with {}", WEXITSTATUS(status)));
}

}  // namespace

Result<std::optional<TraceReadyPlan>> ParseTraceReady(const std::vector<std::string>& handlers) {
  if (handlers.empty()) {
    return std::optional<TraceReadyPlan>();
  }
  TraceReadyPlan plan;
  for (const std::string& handler : handlers) {
    PP_RETURN_IF_ERROR(AddHandler(handler, plan));
  }
  return std::optional(std::move(plan));
}

TraceReady::TraceReady(TraceReadyPlan plan, const SpoolFile& spool, Pid pid, const std::string& output)
    : plan_([&] {
        if (plan.folder.empty()) {
          const auto folder = std::filesystem::path(output == "-" ? "" : output).parent_path();
          plan.folder = folder.empty() ? "." : folder.string();
        }
        return std::move(plan);
      }()),
      spool_(spool),
      pid_(pid),
      thread_([this] { Work(); }) {}

TraceReady::~TraceReady() { Finish(true); }

void TraceReady::Add(std::optional<TimeRange> window) {
  ++added_;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(window);
  }
  changed_.notify_one();
}

void TraceReady::Finish(bool is_aborted) {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    if (is_aborted) {
      waiting_.clear();
    }
  }
  changed_.notify_one();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void TraceReady::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      return;
    }
    const std::optional<TimeRange> window = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    Handle(window);
    lock.lock();
  }
}

std::string TraceReady::NextPath() const {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}/{}_{}.{}.pt.trace.json{}", plan_.folder, HostName(), pid_.value,
                     std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
                     plan_.is_compressed ? ".gz" : "");
}

void TraceReady::Handle(const std::optional<TimeRange>& window) {
  std::error_code failed;
  std::filesystem::create_directories(plan_.folder, failed);  // if it fails, so does the file
  const std::string path = NextPath();
  const auto input = spool_.OpenForReading();
  const auto exported =
      input.has_value() ? ExportTrace(input.value().get(), {.format = ExportFormat::kChrome, .window = window}, path)
                        : Result<ExportSummary>(input.error());
  if (exported.has_error()) {
    has_failed_to_write_ = true;
    Report(exported.error());
    return;
  }
  Note(fmt::format("wrote {} ({})", path, HumanSize(exported.value().bytes)));
  for (const std::string& command : plan_.commands) {
    if (const auto what = RunCommand(command, path)) {
      Report({Code::kInternal, fmt::format("--on-trace-ready: {} {}", command, *what), "the recording goes on"});
    }
  }
}

void TraceReady::Note(std::string text) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(std::move(text));
}

void TraceReady::Report(Error error) {
  const std::lock_guard lock(mutex_);
  errors_.push_back(std::move(error));
}

std::vector<std::string> TraceReady::TakeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

std::vector<Error> TraceReady::TakeErrors() {
  const std::lock_guard lock(mutex_);
  return std::exchange(errors_, {});
}

}  // namespace ptrace_prof
