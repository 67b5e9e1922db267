// Finding the interpreter in real processes: every CPython of the machine, as it is installed and in the disguises that
// binaries wear in the field.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "attach/proc/maps.h"
#include "attach/proc/process_memory.h"
#include "symbolizer/cpython/python_process.h"
#include "tests/unit/symbolizer_cpython_interpreters.h"

namespace ptrace_prof {
namespace {

namespace fs = std::filesystem;

constexpr char kWait[] =
    "import sys; print('ready', flush=True); sys.stdin.read() if 0 else __import__('time').sleep(600)";

Result<PythonProcess> OpenTarget(const TestTarget& target) {
  ProcessMemory memory(Pid(target.pid()));
  return PythonProcess::Open(Pid(target.pid()), memory);
}

// In a process: the runtime's main interpreter leads to a thread that leads back. And the version is right.
void ExpectFound(const TestTarget& target, const std::string& version) {
  ASSERT_TRUE(target.ready()) << target.line();
  const auto process = OpenTarget(target);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  EXPECT_EQ(process.value().version_text, version);
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

TEST_P(InterpreterInProcess, IsFound) {
  const TestTarget target(GetParam().Command({"-c", kWait}));
  ExpectFound(target, GetParam().version);
  const auto process = OpenTarget(target);
  ASSERT_TRUE(process.has_value());
  EXPECT_FALSE(process.value().code_type.IsNull());
}

// ctypes and libffi map the executable a second time on hardened systems; there is no interpreter in that mapping.
TEST_P(InterpreterInProcess, IsFoundBesideASecondMappingOfItsFiles) {
  const TestTarget target(GetParam().Command(
      {"-c",
       "import mmap, sys\nmaps = []\n"
       "for line in list(open('/proc/self/maps')) if __import__('os').path.exists('/proc/self/maps') else []:\n"
       "  path = line.split(None, 5)[5].strip() if len(line.split(None, 5)) > 5 else ''\n"
       "  if 'python' in path and path.startswith('/') and '.so.1' in path + '.so.1' and path not in [p for p, _ in "
       "maps]:\n"
       "    f = open(path, 'rb'); maps.append((path, mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)))\n" +
           std::string(kWait)}));
  ExpectFound(target, GetParam().version);
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
  ExpectFound(TestTarget(copy.Command(copy.executable())), GetParam().version);
}

TEST_P(DisguisedInterpreter, IsFoundInDeletedFilesOfOtherNames) {
  const Copy copy(GetParam());
  const TestTarget target(copy.Command(copy.executable()));
  ASSERT_TRUE(target.ready());
  for (const std::string& file : copy.Files()) {
    ASSERT_TRUE(fs::remove(file));
  }
  ExpectFound(target, GetParam().version);
}

// Renames a symbol in .dynstr, as if it had never been exported. The loader finds symbols by hash, so nobody who uses
// the symbol by name may be left: the interpreter itself refers to it directly.
void HideSymbol(const std::string& file, const std::string& name) {
  std::ifstream in(file, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  in.close();
  const std::string wanted = std::string(1, '\0') + name + std::string(1, '\0');
  size_t count = 0;
  for (size_t at = bytes.find(wanted); at != std::string::npos; at = bytes.find(wanted, at + 1)) {
    bytes[at + 1] = 'X';
    ++count;
  }
  ASSERT_GT(count, 0U);
  std::ofstream(file, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// Neither symbol nor section headers: the memory has to be searched.
TEST_P(DisguisedInterpreter, IsFoundWithoutAnySymbolOrSection) {
  const Copy copy(GetParam());
  for (const std::string& file : copy.Files()) {
    ASSERT_TRUE(OutputOf({"strip", file}).has_value());
  }
  const std::string holder = copy.library().empty() ? copy.executable() : copy.library();
  for (const char* name : {"_PyRuntime", "Py_Version"}) {
    if (GetParam().minor() >= 11 || std::string(name) == "_PyRuntime") {
      HideSymbol(holder, name);
    }
  }
  // No section headers: e_shoff, e_shnum and e_shstrndx are 0.
  std::fstream elf(holder, std::ios::binary | std::ios::in | std::ios::out);
  const char zeros[8] = {};
  elf.seekp(0x28).write(zeros, 8);
  elf.seekp(0x3C).write(zeros, 4);
  elf.close();
  const TestTarget target({"env", "LD_BIND_NOW=", "LD_LIBRARY_PATH=" + copy.path(), copy.Command(copy.executable())[2],
                           copy.executable(), "-S", "-c", kWait});
  ExpectFound(target, GetParam().version);
}

INSTANTIATE_TEST_SUITE_P(All, DisguisedInterpreter, testing::ValuesIn(PyenvInterpreters()),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DisguisedInterpreter);

// A C program that has an interpreter in it, under a name that does not say so.
TEST_P(DisguisedInterpreter, IsFoundWhereItIsEmbedded) {
  const ScratchDirectory scratch;
  const fs::path prefix = fs::canonical(GetParam().path).parent_path().parent_path();
  const std::string minor = "3." + std::to_string(GetParam().minor());
  const std::string source = scratch.path() + "/host.c";
  std::ofstream(source) << "int Py_Initialize(void); int PyRun_SimpleString(const char*);\n"
                           "int main(void) { Py_Initialize(); return PyRun_SimpleString(\""
                        << kWait << "\"); }\n";
  ASSERT_TRUE(OutputOf({"gcc", "-w", source, "-o", scratch.path() + "/host", "-L" + (prefix / "lib").string(),
                        "-lpython" + minor, "-Wl,-rpath," + (prefix / "lib").string()})
                  .has_value());
  const TestTarget target({"env", "PYTHONHOME=" + prefix.string(), scratch.path() + "/host"});
  ExpectFound(target, GetParam().version);
}

TEST(PythonProcess, NamesAProcessThatIsNotPython) {
  const TestTarget target({"sh", "-c", "echo ready; exec sleep 600"});
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
    EXPECT_EQ(process.error().message, "CPython " + version + " is not supported: 3.8 to 3.15 are");
  }
  if (tried == 0) {
    GTEST_SKIP() << "no CPython 2.7, 3.6 or 3.7 here";
  }
}

TEST(PythonProcess, AGoneProcessIsGone) {
  pid_t pid = 0;
  {
    const TestTarget target({"sh", "-c", "echo ready; exec sleep 600"});
    pid = target.pid();
  }
  ProcessMemory memory{Pid(pid)};
  const auto process = PythonProcess::Open(Pid(pid), memory);
  ASSERT_TRUE(process.has_error());
  EXPECT_EQ(process.error().code, Code::kGone) << process.error().message;
}

}  // namespace
}  // namespace ptrace_prof
