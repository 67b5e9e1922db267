// The CPythons of this machine, as real targets for tests: found in the list that ./dev setup writes, or in pyenv.
#pragma once

#include <sys/types.h>

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace ptrace_prof {

struct Interpreter {
  std::string version;          // such as "3.11.7", or "3.14.4t" for a free-threaded build
  std::string kind;             // "pyenv", "system", "built", "root"
  std::string root;             // "" or a root file system to run in
  std::string path;             // inside that root
  std::string flavour = "gil";  // "gil", "nogil", "debug"

  std::string number() const;  // "3.14.4" of "3.14.4t"
  std::string Label() const;   // "py3_11_7_pyenv": a name for a test
  int minor() const;
  // The argv that runs it with these arguments.
  std::vector<std::string> Command(const std::vector<std::string>& arguments) const;
};

void PrintTo(const Interpreter& one, std::ostream* out);

// All interpreters, or those of at least this minor version.
std::vector<Interpreter> Interpreters(int least_minor = 8);
// Without free-threaded builds.
std::vector<Interpreter> InterpretersWithGil();

// The include directory of an interpreter's version, if its internal headers are installed.
std::optional<std::string> HeadersOf(const Interpreter& one);

// The standard output of a command; nullopt if it does not end with status 0.
std::optional<std::string> OutputOf(const std::vector<std::string>& command);

// A directory for the files of one test, removed with them.
class ScratchDirectory {
 public:
  ScratchDirectory();
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A child that runs a command and has printed a first line, which starts with "ready". It is killed at the end.
class TestTarget {
 public:
  explicit TestTarget(const std::vector<std::string>& command);
  ~TestTarget();
  TestTarget(const TestTarget&) = delete;
  TestTarget& operator=(const TestTarget&) = delete;

  pid_t pid() const { return pid_; }
  bool ready() const { return line_.starts_with("ready"); }
  const std::string& line() const { return line_; }  // without the newline
  std::string ReadLine();                            // the next one

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  std::string line_;
};

}  // namespace ptrace_prof
