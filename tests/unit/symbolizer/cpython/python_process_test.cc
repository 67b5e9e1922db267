// Finding the interpreter in real processes: every CPython of the machine, as it is installed and in the forms that
// binaries have in the field.
#include "symbolizer/cpython/python_process.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "attach/proc/maps.h"
#include "attach/proc/process_memory.h"
#include "symbolizer/cpython/version_table.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

namespace fs = std::filesystem;

constexpr char kWait[] = "import sys; print('ready', flush=True); __import__('time').sleep(600)";

Result<PythonProcess> OpenTarget(const TestTarget& target) {
  ProcessMemory memory(Pid(target.pid()));
  return PythonProcess::Open(Pid(target.pid()), memory);
}

// Expects that the interpreter was found in the process, with the right version.
void ExpectFound(const TestTarget& target, const std::string& version) {
  ASSERT_TRUE(target.ready()) << target.line();
  const auto process = OpenTarget(target);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_EQ(process.value().version_text.substr(0, version.size()), version);
  EXPECT_EQ(ToString(process.value().layout.version), version);
  EXPECT_FALSE(process.value().runtime.IsNull());
  EXPECT_FALSE(process.value().binary.empty());
}

// A copy of an interpreter's executable and library in a directory, runnable from there.
class Copy {
 public:
  explicit Copy(const Interpreter& one) : one_(one) {
    const fs::path executable = fs::canonical(one.path);
    fs::copy_file(executable, directory_.path() + "/foo");
    const fs::path prefix = executable.parent_path().parent_path();
    for (const auto& entry : fs::directory_iterator(prefix / "lib")) {
      const std::string name = entry.path().filename();
      if (name.starts_with("libpython3.") && name.find(".so.1") != std::string::npos) {
        library_ = directory_.path() + "/" + name;
        fs::copy_file(entry.path(), library_);
      }
    }
    prefix_ = prefix;
  }
  const std::string& library() const { return library_; }
  std::string executable() const { return directory_.path() + "/foo"; }
  // The files that hold code of the interpreter.
  std::vector<std::string> Files() const {
    return library_.empty() ? std::vector<std::string>{executable()} : std::vector<std::string>{executable(), library_};
  }
  std::vector<std::string> Command(const std::string& program) const {
    return {"env", "LD_LIBRARY_PATH=" + directory_.path(), "PYTHONHOME=" + prefix_.string(), program, "-S", "-c",
            kWait};
  }
  std::string path() const { return directory_.path(); }

 private:
  Interpreter one_;
  ScratchDirectory directory_;
  std::string library_;
  fs::path prefix_;
};

std::vector<Interpreter> PyenvInterpreters() {
  auto found = Interpreters();
  std::erase_if(found, [](const Interpreter& one) { return one.kind != "pyenv"; });
  return found;
}

class InterpreterInProcess : public testing::TestWithParam<Interpreter> {};

TEST_P(InterpreterInProcess, IsFoundWithTheTypeOfItsCode) {
  const TestTarget target(GetParam().Command(
      {"-c", "print('ready', id(type((lambda: 0).__code__)), flush=True); __import__('time').sleep(600)"}));
  ExpectFound(target, GetParam().number());
  const auto process = OpenTarget(target);
  ASSERT_TRUE(process.has_value());
  EXPECT_EQ("ready " + std::to_string(process.value().code_type.value), target.line());
}

// Something may map the interpreter's file a second time (ctypes closures of a hardened libffi do). That mapping has no
// interpreter. Where the root has no /proc, the target maps nothing, and the test equals the one above.
TEST_P(InterpreterInProcess, IsFoundBesideASecondMappingOfItsFiles) {
  const std::string map_again = R"(
import mmap, os
paths = set()
if os.path.exists('/proc/self/maps'):
    paths = {line.split()[-1] for line in open('/proc/self/maps') if 'python' in line.split()[-1]}
again = [mmap.mmap(os.open(path, os.O_RDONLY), 0, prot=mmap.PROT_READ) for path in paths if os.path.exists(path)]
)";
  ExpectFound(TestTarget(GetParam().Command({"-c", map_again + kWait})), GetParam().number());
}

// Modules are torn down while this object goes away, and its end waits.
TEST_P(InterpreterInProcess, ThatIsShuttingDownIsRefused) {
  const TestTarget target(GetParam().Command({"-c", R"(
import os, time
class Last:
    def __del__(self, write=os.write, sleep=time.sleep):
        write(1, b'ready\n')
        sleep(600)
last = Last()
)"}));
  ASSERT_TRUE(target.ready());
  const auto process = OpenTarget(target);
  ASSERT_TRUE(process.has_error());
  EXPECT_EQ(process.error().code, Code::kFailedPrecondition);
  EXPECT_NE(process.error().message.find("shutting down"), std::string::npos) << process.error().message;
}

INSTANTIATE_TEST_SUITE_P(All, InterpreterInProcess, testing::ValuesIn(Interpreters()),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(InterpreterInProcess);

class DisguisedInterpreter : public testing::TestWithParam<Interpreter> {};

TEST_P(DisguisedInterpreter, IsFoundStripped) {
  const Copy copy(GetParam());
  for (const std::string& file : copy.Files()) {
    ASSERT_TRUE(OutputOf({"strip", file}).has_value());
  }
  ExpectFound(TestTarget(copy.Command(copy.executable())), GetParam().number());
}

TEST_P(DisguisedInterpreter, IsFoundInDeletedFilesOfOtherNames) {
  const Copy copy(GetParam());
  const TestTarget target(copy.Command(copy.executable()));
  ASSERT_TRUE(target.ready());
  for (const std::string& file : copy.Files()) {
    ASSERT_TRUE(fs::remove(file));
  }
  ExpectFound(target, GetParam().number());
}

// Builds a C program with an embedded interpreter, under a name that does not show it. "" if that fails.
std::string BuildHost(const ScratchDirectory& scratch, const std::vector<std::string>& link,
                      const std::string& body = std::string("Py_Initialize(); PyRun_SimpleString(\"") + kWait +
                                                "\");") {
  const std::string source = scratch.path() + "/host.c";
  std::ofstream(source) << "int Py_Initialize(void); int PyRun_SimpleString(const char*); int Py_FinalizeEx(void);\n"
                           "int puts(const char*); int sleep(int); extern void* stdout; int fflush(void*);\n"
                           "int main(void) { "
                        << body << " return 0; }\n";
  std::vector<std::string> command = {"gcc", "-w", source, "-o", scratch.path() + "/host"};
  command.insert(command.end(), link.begin(), link.end());
  return OutputOf(command) ? scratch.path() + "/host" : "";
}

fs::path PrefixOf(const Interpreter& one) { return fs::canonical(one.path).parent_path().parent_path(); }

TEST_P(DisguisedInterpreter, IsFoundWhereItIsEmbedded) {
  const ScratchDirectory scratch;
  const fs::path prefix = PrefixOf(GetParam());
  const std::string host =
      BuildHost(scratch, {"-L" + (prefix / "lib").string(), "-lpython3." + std::to_string(GetParam().minor()),
                          "-Wl,-rpath," + (prefix / "lib").string()});
  ASSERT_NE(host, "");
  ExpectFound(TestTarget({"env", "PYTHONHOME=" + prefix.string(), host}), GetParam().number());
}

// A program that mentions PyCode_Type gets a copy of it, and that copy is the type of all code objects.
TEST_P(DisguisedInterpreter, TypeOfCodeIsTheOneInUse) {
  const ScratchDirectory scratch;
  const fs::path prefix = PrefixOf(GetParam());
  const std::string body =
      "extern char PyCode_Type; volatile void* use = &PyCode_Type; Py_Initialize();"
      "PyRun_SimpleString(\"print('ready', id(type((lambda: 0).__code__)), flush=True); "
      "__import__('time').sleep(600)\");";
  const std::string host =
      BuildHost(scratch,
                {"-no-pie", "-L" + (prefix / "lib").string(), "-lpython3." + std::to_string(GetParam().minor()),
                 "-Wl,-rpath," + (prefix / "lib").string()},
                body);
  ASSERT_NE(host, "");
  const TestTarget target({"env", "PYTHONHOME=" + prefix.string(), host});
  ASSERT_TRUE(target.ready());
  const auto process = OpenTarget(target);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_EQ("ready " + std::to_string(process.value().code_type.value), target.line());
}

TEST_P(DisguisedInterpreter, ThatDoesNotRunIsRefused) {
  const fs::path prefix = PrefixOf(GetParam());
  const std::string wait = "puts(\"ready\"); fflush(0); sleep(600);";
  for (const std::string& body :
       std::vector<std::string>{"if (!stdout) Py_Initialize(); " + wait, "Py_Initialize(); Py_FinalizeEx(); " + wait}) {
    const ScratchDirectory scratch;
    const std::string host =
        BuildHost(scratch,
                  {"-L" + (prefix / "lib").string(), "-lpython3." + std::to_string(GetParam().minor()),
                   "-Wl,-rpath," + (prefix / "lib").string()},
                  body);
    ASSERT_NE(host, "");
    const TestTarget target({"env", "PYTHONHOME=" + prefix.string(), host});
    ASSERT_TRUE(target.ready());
    const auto process = OpenTarget(target);
    ASSERT_TRUE(process.has_error());
    EXPECT_EQ(process.error().code, Code::kFailedPrecondition);
    EXPECT_NE(process.error().message.find("CPython 3"), std::string::npos) << process.error().message;
  }
}

// Linked statically, not exported, stripped, without section headers: no symbol has a name, so memory has to be
// searched.
TEST_P(DisguisedInterpreter, IsFoundWithoutAnyName) {
  const ScratchDirectory scratch;
  const fs::path prefix = PrefixOf(GetParam());
  const std::string name = "3." + std::to_string(GetParam().minor());
  const fs::path archive =
      prefix / "lib" / ("python" + name) / ("config-" + name + "-x86_64-linux-gnu") / ("libpython" + name + ".a");
  if (!fs::exists(archive)) {
    GTEST_SKIP() << "CPython " << GetParam().version << " has no static library here";
  }
  const std::string host =
      BuildHost(scratch, {archive, "-lpthread", "-ldl", "-lutil", "-lm", "-lz", "-Wl,--gc-sections"});
  ASSERT_NE(host, "");
  ASSERT_TRUE(OutputOf({"strip", host}).has_value());
  std::fstream elf(host, std::ios::binary | std::ios::in | std::ios::out);
  const char zeros[8] = {};
  elf.seekp(0x28).write(zeros, 8);  // e_shoff
  elf.seekp(0x3C).write(zeros, 4);  // e_shnum, e_shstrndx
  elf.close();
  ExpectFound(TestTarget({"env", "PYTHONHOME=" + prefix.string(), host}), GetParam().number());
}

INSTANTIATE_TEST_SUITE_P(All, DisguisedInterpreter, testing::ValuesIn(PyenvInterpreters()),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DisguisedInterpreter);

TEST(PythonProcess, NamesAProcessThatIsNotPython) {
  const TestTarget target({"sh", "-c", "echo ready; kill -STOP $$"});
  ASSERT_TRUE(target.ready());
  const auto process = OpenTarget(target);
  ASSERT_TRUE(process.has_error());
  EXPECT_EQ(process.error().code, Code::kFailedPrecondition);
  EXPECT_NE(process.error().message.find("is not a Python process"), std::string::npos) << process.error().message;
}

TEST(PythonProcess, RefusesOldPythonsByName) {
  size_t tried = 0;
  for (const std::string version : {"2.7.18", "3.6.15", "3.7.16"}) {
    const std::string path = "/root/.pyenv/versions/" + version + "/bin/python";
    if (!fs::exists(path)) {
      continue;
    }
    ++tried;
    const TestTarget target({path, "-u", "-c", "import time; print('ready'); time.sleep(600)"});
    ASSERT_TRUE(target.ready());
    const auto process = OpenTarget(target);
    ASSERT_TRUE(process.has_error());
    EXPECT_EQ(process.error().code, Code::kUnimplemented);
    EXPECT_EQ(process.error().message, "CPython " + version + " is not supported: " + SupportedRange() + " are");
  }
  if (tried == 0) {
    GTEST_SKIP() << "no CPython 2.7, 3.6 or 3.7 here";
  }
}

TEST(PythonProcess, AGoneProcessIsGone) {
  pid_t pid = 0;
  {
    const TestTarget target({"sh", "-c", "echo ready; kill -STOP $$"});
    pid = target.pid();
  }
  ProcessMemory memory{Pid(pid)};
  const auto process = PythonProcess::Open(Pid(pid), memory);
  ASSERT_TRUE(process.has_error());
  EXPECT_EQ(process.error().code, Code::kGone) << process.error().message;
}

}  // namespace
}  // namespace ptrace_prof
