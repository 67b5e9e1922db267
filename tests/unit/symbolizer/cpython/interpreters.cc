#include "tests/unit/symbolizer/cpython/interpreters.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace ptrace_prof {
namespace {

std::vector<Interpreter> ReadList(const std::string& path) {
  std::vector<Interpreter> found;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    Interpreter one;
    if (fields >> one.version >> one.kind >> one.root >> one.path) {
      one.flavour = one.version.ends_with('t') ? "nogil" : one.version.ends_with('d') ? "debug" : "gil";
      one.root = one.root == "-" ? "" : one.root;
      found.push_back(one);
    }
  }
  return found;
}

std::vector<Interpreter> LookInPyenv() {
  std::vector<Interpreter> found;
  const char* home = std::getenv("PYENV_ROOT");
  const std::string versions = std::string(home != nullptr ? home : "/root/.pyenv") + "/versions";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(versions, error)) {
    const std::string version = entry.path().filename();
    if (version.starts_with("3.") && std::atoi(version.c_str() + 2) >= 8) {
      found.push_back({version, "pyenv", "", entry.path() / "bin/python3", "gil"});
    }
  }
  std::ranges::sort(found, {}, [](const Interpreter& one) { return one.minor(); });
  return found;
}

// Starts a command with its standard output in a pipe; {pid, read end}, or {-1, -1}.
std::pair<pid_t, int> Spawn(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return {-1, -1};
  }
  std::vector<char*> argv;
  for (const std::string& word : command) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    return {-1, -1};
  }
  return {pid, ends[0]};
}

}  // namespace

void PrintTo(const Interpreter& one, std::ostream* out) { *out << one.Label(); }

std::string Interpreter::number() const { return version.substr(0, version.find_last_not_of("td") + 1); }

std::string Interpreter::Label() const {
  std::string label = "py" + version + "_" + kind + (flavour == "gil" ? "" : "_" + flavour);
  std::ranges::replace(label, '.', '_');
  return label;
}

int Interpreter::minor() const { return version.size() > 2 ? std::atoi(version.c_str() + 2) : 0; }

std::vector<std::string> Interpreter::Command(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command;
  if (!root.empty()) {
    command = {"chroot", root};
  }
  command.push_back(path);
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::vector<Interpreter> Interpreters(int least_minor) {
  const char* cache = std::getenv("PTRACE_PROF_CACHE");
  auto found = ReadList(std::string(cache != nullptr ? cache : "/var/cache/ptrace-prof") + "/interpreters.txt");
  if (geteuid() != 0) {
    std::erase_if(found, [](const Interpreter& one) { return !one.root.empty(); });  // chroot needs root
  }
  if (found.empty()) {
    found = LookInPyenv();
  }
  std::erase_if(found, [&](const Interpreter& one) { return one.minor() < least_minor; });
  return found;
}

std::vector<Interpreter> InterpretersWithGil() {
  auto found = Interpreters();
  std::erase_if(found, [](const Interpreter& one) { return one.flavour == "nogil"; });
  return found;
}

std::optional<std::string> HeadersOf(const Interpreter& one) {
  const std::string name = "python3." + std::to_string(one.minor()) + (one.flavour == "nogil" ? "t" : "");
  const std::string prefix = std::filesystem::path(one.path).parent_path().parent_path();
  for (const std::string& directory : {one.root + prefix + "/include/" + name, one.root + "/usr/include/" + name}) {
    if (std::filesystem::exists(directory + "/internal/pycore_pystate.h")) {
      return directory;
    }
  }
  return std::nullopt;
}

std::optional<std::string> OutputOf(const std::vector<std::string>& command) {
  const auto [pid, output] = Spawn(command);
  if (pid < 0) {
    return std::nullopt;
  }
  std::string text;
  char buffer[65536];
  for (ssize_t n = 0; (n = read(output, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(output);
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(text) : std::nullopt;
}

ScratchDirectory::ScratchDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "ptrace-prof-test-XXXXXX";
  path_ = mkdtemp(pattern.data()) == nullptr ? "" : pattern;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) {
    std::filesystem::remove_all(path_, ignored);
  }
}

TestTarget::TestTarget(const std::vector<std::string>& command) {
  std::tie(pid_, output_) = Spawn(command);
  line_ = ReadLine();
}

TestTarget::~TestTarget() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (output_ >= 0) {
    close(output_);
  }
}

std::string TestTarget::ReadLine() {
  std::string line;
  for (char c = 0; output_ >= 0 && read(output_, &c, 1) == 1 && c != '\n';) {
    line.push_back(c);
  }
  return line;
}

}  // namespace ptrace_prof
