// Objects of real interpreters, read from outside and compared with the interpreter's own values.
#include "symbolizer/cpython/object_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "attach/proc/process_memory.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/python_process.h"
#include "symbolizer/cpython/thread_names.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string TextFromHex(const std::string& hex) {
  std::string text;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    text.push_back(static_cast<char>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return text;
}

std::string ItemCount(ObjectReader& reader, RemoteAddr object) {
  size_t count = 0;
  const bool read = reader.VisitDict(object, SIZE_MAX, [&](RemoteAddr, RemoteAddr) { return ++count > 0; });
  return read ? std::to_string(count) : "unreadable";
}

std::vector<std::string> AttributesOf(ObjectReader& reader, RemoteAddr object) {
  std::vector<std::string> found;
  reader.VisitAttributes(object, SIZE_MAX, [&](RemoteAddr key, RemoteAddr value) {
    found.push_back(reader.ReadString(key).value_or("?") + "=" + reader.Repr(value, 40));
    return true;
  });
  std::ranges::sort(found);
  return found;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

using Answer = std::string (*)(ObjectReader& reader, RemoteAddr object);
const std::map<std::string, Answer> kAnswers = {
    {"string", [](ObjectReader& r, RemoteAddr o) { return r.ReadString(o).value_or("unreadable"); }},
    {"int",
     [](ObjectReader& r, RemoteAddr o) {
       const auto value = r.ReadInt(o);
       return value ? std::to_string(*value) : std::string("none");
     }},
    {"repr", [](ObjectReader& r, RemoteAddr o) { return r.Repr(o, 120); }},
    {"items", ItemCount},
    {"attributes", [](ObjectReader& r, RemoteAddr o) { return Joined(AttributesOf(r, o)); }},
};

class ObjectsOfInterpreter : public testing::TestWithParam<Interpreter> {};

TEST_P(ObjectsOfInterpreter, ReadAsThePythonSays) {
  TestTarget target(GetParam().Command({"-X", "utf8", "-c", TextOf(PP_OBJECTS_SCRIPT)}));
  ASSERT_TRUE(target.ready()) << target.line();
  ProcessMemory memory(Pid(target.pid()));
  const auto process = PythonProcess::Open(Pid(target.pid()), memory);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  ObjectReader reader(memory, process.value().layout);
  std::istringstream announced(target.line().substr(6));
  size_t count = 0;
  announced >> count;
  ASSERT_GT(count, 100U);
  for (size_t i = 0; i < count; ++i) {
    std::istringstream line(target.ReadLine());
    uint64_t address = 0;
    std::string what, hex;
    line >> address >> what >> hex;
    const std::string expected = TextFromHex(hex);
    if (what == "has") {
      const std::string found = Joined(AttributesOf(reader, RemoteAddr(address)));
      EXPECT_NE(found.find(expected + "="), std::string::npos) << found;
      continue;
    }
    ASSERT_TRUE(kAnswers.contains(what)) << what;
    EXPECT_EQ(kAnswers.at(what)(reader, RemoteAddr(address)), expected) << "object " << i << ", " << what;
  }
}

TEST_P(ObjectsOfInterpreter, ThreadsHaveTheirNames) {
  TestTarget target(GetParam().Command({"-c", R"(
import threading, time
started = threading.Barrier(11)
def wait():
    started.wait()
    time.sleep(600)
names = ["CustomThreadName-%d" % i for i in range(9)] + ["\u043f\u043e\u0442\u043e\u043a"]
threads = [threading.Thread(target=wait, name=name, daemon=True) for name in names]
for thread in threads:
    thread.start()
started.wait()
print("ready", " ".join("%d" % thread.ident for thread in [threading.main_thread()] + threads), flush=True)
time.sleep(600)
)"}));
  ASSERT_TRUE(target.ready());
  ProcessMemory memory(Pid(target.pid()));
  const auto process = PythonProcess::Open(Pid(target.pid()), memory);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  std::vector<InterpreterEntry> interpreters;
  ASSERT_EQ(ReadInterpreters(memory, process.value().layout, process.value().runtime, &interpreters), ReadStatus::kOk);
  ASSERT_EQ(interpreters.size(), 1U);
  const auto names = ReadThreadNames(memory, process.value().layout, interpreters[0].address);
  EXPECT_EQ(names.size(), 11U);
  std::istringstream idents(target.line().substr(6));
  uint64_t ident = 0;
  std::vector<std::string> found;
  while (idents >> ident) {
    found.push_back(names.contains(ident) ? names.at(ident) : "none");
  }
  std::vector<std::string> expected = {"MainThread"};
  for (int i = 0; i < 9; ++i) {
    expected.push_back("CustomThreadName-" + std::to_string(i));
  }
  expected.push_back("поток");
  EXPECT_EQ(found, expected);
}

TEST_P(ObjectsOfInterpreter, WithoutThreadingThereAreNoNames) {
  const TestTarget target(GetParam().Command(
      {"-S", "-c",
       "import sys, time; sys.modules.pop('threading', None); print('ready', flush=True); time.sleep(600)"}));
  ASSERT_TRUE(target.ready());
  ProcessMemory memory(Pid(target.pid()));
  const auto process = PythonProcess::Open(Pid(target.pid()), memory);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  std::vector<InterpreterEntry> interpreters;
  ASSERT_EQ(ReadInterpreters(memory, process.value().layout, process.value().runtime, &interpreters), ReadStatus::kOk);
  EXPECT_TRUE(ReadThreadNames(memory, process.value().layout, interpreters[0].address).empty());
}

INSTANTIATE_TEST_SUITE_P(All, ObjectsOfInterpreter, testing::ValuesIn(Interpreters()),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ObjectsOfInterpreter);

}  // namespace
}  // namespace ptrace_prof
