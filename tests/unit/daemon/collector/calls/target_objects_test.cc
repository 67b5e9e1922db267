// Objects that real interpreters call, named from outside.
#include "daemon/collector/calls/target_objects.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "attach/proc/process_memory.h"
#include "daemon/collector/calls/known_methods.h"
#include "symbolizer/cpython/python_process.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

std::string TextOf(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ExpectKnownMethods(RemoteMemory& memory, const PythonProcess& process, RemoteAddr call, RemoteAddr step) {
  RemoteAddr interpreter;
  const Layout& layout = process.layout;
  ASSERT_EQ(memory.ReadValue(process.runtime + layout.runtime_interpreters_main, &interpreter.value), ReadStatus::kOk);
  std::vector<std::pair<Landmark, RemoteAddr>> found;
  const auto note = [&](Landmark landmark, RemoteAddr code) { found.emplace_back(landmark, code); };
  FindKnownMethods(memory, layout, interpreter, note);
  FindKnownMethods(memory, layout, RemoteAddr(8), note);
  EXPECT_EQ(found, (std::vector{std::pair(Landmark::kModuleCall, call), std::pair(Landmark::kOptimizer, step)}));
}

class TargetObjectsTest : public testing::TestWithParam<Interpreter> {};

TEST_P(TargetObjectsTest, AreCalledWhatTheyAre) {
  TestTarget target(GetParam().Command({"-c", TextOf(PP_TARGET_OBJECTS_SCRIPT)}));
  ASSERT_TRUE(target.ready()) << target.line();
  ProcessMemory memory(Pid(target.pid()));
  const auto process = PythonProcess::Open(Pid(target.pid()), memory);
  ASSERT_TRUE(process.has_value()) << process.error().message;
  CodeCache codes(memory, process.value().layout, process.value().code_type);
  TargetObjects objects(memory, process.value().layout, codes);
  const size_t count = std::stoul(target.line().substr(6));
  std::vector<RemoteAddr> known;
  for (size_t i = 0; i < count; ++i) {
    std::istringstream line(target.ReadLine());
    std::string kind;
    RemoteAddr first;
    RemoteAddr second;
    std::string name;
    line >> kind >> first.value >> second.value;
    std::getline(line >> std::ws, name);
    if (kind == "known_methods") {
      ExpectKnownMethods(memory, process.value(), first, second);
      continue;
    }
    const std::optional<Frame> frame = kind == "code"     ? objects.Code(first)
                                       : kind == "module" ? objects.Module(first, second)
                                       : second.IsNull()  ? objects.Type(first)
                                                          : objects.Callable(first, second);
    if (name == "-") {
      EXPECT_FALSE(frame) << frame->function;
      continue;
    }
    ASSERT_TRUE(frame) << name;
    if (name == "nn.Module: Linear_1 (%s)") {  // held twice: named by its first or its second name
      EXPECT_TRUE(frame->function == "nn.Module: Linear_1 (layers.0.key)" ||
                  frame->function == "nn.Module: Linear_1 (again.key)")
          << frame->function;
      continue;
    }
    EXPECT_EQ(frame->function, name);
    EXPECT_EQ(frame->kind, kind == "code" ? FrameKind::kPython : kind == "module" ? FrameKind::kModule : FrameKind::kC);
    if (kind == "code") {
      known.push_back(first);
      EXPECT_EQ(frame->file, "<string>");
      EXPECT_GT(frame->first_line, 1);
    }
  }
  EXPECT_TRUE(objects.ModulesMoved());
  EXPECT_FALSE(objects.ModulesMoved());
  std::vector<RemoteAddr> changed;
  objects.Changed(known, &changed);
  EXPECT_TRUE(changed.empty());
  EXPECT_FALSE(objects.Code(RemoteAddr(8)));
  EXPECT_EQ(objects.Callable(RemoteAddr(8), RemoteAddr(16))->kind, FrameKind::kMarker);
  EXPECT_FALSE(objects.Module(RemoteAddr(8), RemoteAddr(16)));
}

INSTANTIATE_TEST_SUITE_P(Interpreters, TargetObjectsTest, testing::ValuesIn(Interpreters()),
                         [](const auto& param) { return param.param.Label(); });

}  // namespace
}  // namespace ptrace_prof
