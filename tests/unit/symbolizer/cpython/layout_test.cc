// Compares every number of our layouts with a C compiler's and the interpreter's own. A probe is compiled with the
// headers of each interpreter that has them, once for each kind of build of that version, and prints where each field
// is.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "symbolizer/cpython/debug_offsets.h"
#include "symbolizer/cpython/version_table.h"
#include "tests/unit/symbolizer/cpython/interpreters.h"

namespace ptrace_prof {
namespace {

using Probe = std::map<std::string, std::string>;

struct Build {
  std::string name;
  int least_minor;
  std::vector<std::string> flags;
};
const Build kBuilds[] = {{"ordinary", 8, {}},
                         {"debug", 8, {"-DPy_DEBUG"}},
                         {"free-threaded", 13, {"-DPy_GIL_DISABLED"}},
                         {"free-threaded debug", 13, {"-DPy_GIL_DISABLED", "-DPy_DEBUG"}}};

std::optional<Probe> RunProbe(const std::string& headers, const Build& build) {
  const ScratchDirectory scratch;
  const std::string program = scratch.path() + "/probe";
  const std::string parent = std::filesystem::path(headers).parent_path();
  // Static and with its many unresolved references ignored: only constants are printed.
  std::vector<std::string> compile = {
      "gcc", "-w",    "-std=gnu11",    "-I" + headers, "-I" + headers + "/internal",         "-idirafter", parent,
      "-o",  program, PP_LAYOUT_PROBE, "-static",      "-Wl,--unresolved-symbols=ignore-all"};
  compile.insert(compile.end(), build.flags.begin(), build.flags.end());
  if (!OutputOf(compile)) {
    return std::nullopt;
  }
  const auto output = OutputOf({program});
  if (!output) {
    return std::nullopt;
  }
  Probe probe;
  std::istringstream lines(*output);
  for (std::string name, value; lines >> name >> value;) {
    probe[name] = value;
  }
  return probe;
}

std::vector<std::byte> BytesFromHex(const std::string& text) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

Result<Layout> LayoutOf(const Probe& probe) {
  const auto described = probe.find("debug_offsets");
  if (described != probe.end()) {
    return ImportDebugOffsets(BytesFromHex(described->second));
  }
  return LayoutFor(PythonVersion::FromHex(static_cast<uint32_t>(std::stoul(probe.at("version")))), false);
}

// Fields of 3.8–3.10 that are in no installed header (Objects/dict-common.h).
const std::set<std::string, std::less<>> kUncheckable = {"keys.size", "keys.entry_count", "keys.indices"};

void ExpectSame(const Layout& layout, const Probe& probe) {
  for (const LayoutField& field : LayoutFields()) {
    const auto theirs = probe.find(std::string(field.name));
    if (theirs != probe.end()) {
      EXPECT_EQ(std::to_string(layout.*field.slot), theirs->second) << field.name;
    } else if (layout.Has(field.slot) &&
               !(layout.line_table != LineTableKind::kLocationTable && kUncheckable.contains(field.name))) {
      ADD_FAILURE() << field.name << " is in our layout and not in CPython";
    }
  }
  EXPECT_EQ(std::to_string(layout.string_kind_shift), probe.at("string.kind_shift"));
  EXPECT_EQ(std::to_string(layout.string_kind_shift + 3), probe.at("string.compact_bit"));
  EXPECT_EQ(std::to_string(layout.string_kind_shift + 4), probe.at("string.ascii_bit"));
  if (probe.contains("managed_dict")) {
    EXPECT_EQ(std::to_string(layout.managed_dict), probe.at("managed_dict"));
  }
  if (probe.contains("frame.owner_no_python")) {
    EXPECT_EQ(std::to_string(layout.owner_no_python), probe.at("frame.owner_no_python"));
  }
  EXPECT_LE(layout.thread_size, std::stoul(probe.at("sizeof.thread")));
  EXPECT_LE(layout.frame_size, std::stoul(probe.at("sizeof.frame")));
  EXPECT_LE(layout.code_size, std::stoul(probe.at("sizeof.code")));
}

class LayoutOfInterpreter : public testing::TestWithParam<Interpreter> {};

TEST_P(LayoutOfInterpreter, EqualsWhatACompilerMakesOfItsHeaders) {
  const auto headers = HeadersOf(GetParam());
  if (!headers) {
    GTEST_SKIP() << "CPython " << GetParam().version << " (" << GetParam().kind << ") has no internal headers here";
  }
  for (const Build& build : kBuilds) {
    if (GetParam().minor() < build.least_minor ||
        (GetParam().flavour == "nogil" && !build.name.starts_with("free-threaded"))) {
      continue;
    }
    SCOPED_TRACE(build.name);
    const auto probe = RunProbe(*headers, build);
    ASSERT_TRUE(probe.has_value());
    const Result<Layout> layout = LayoutOf(*probe);
    ASSERT_TRUE(layout.has_value()) << layout.error().message;
    EXPECT_EQ(layout.value().free_threaded, build.name.starts_with("free-threaded"));
    ExpectSame(layout.value(), *probe);
  }
}

// 3.13+: the description that the interpreter itself carries, read by the interpreter.
std::optional<std::vector<std::byte>> OwnDescription(const Interpreter& one) {
  const auto output = OutputOf(one.Command(
      {"-c", "import ctypes; print(bytes((ctypes.c_char * 4096).in_dll(ctypes.pythonapi, '_PyRuntime')).hex())"}));
  if (!output) {
    return std::nullopt;
  }
  return BytesFromHex(output->substr(0, output->find('\n')));
}

class DescriptionOfInterpreter : public testing::TestWithParam<Interpreter> {};

TEST_P(DescriptionOfInterpreter, CanBeImported) {
  const auto bytes = OwnDescription(GetParam());
  ASSERT_TRUE(bytes.has_value());
  const Result<Layout> layout = ImportDebugOffsets(*bytes);
  ASSERT_TRUE(layout.has_value()) << layout.error().message;
  EXPECT_EQ(ToString(layout.value().version), GetParam().number());
  EXPECT_EQ(layout.value().free_threaded, GetParam().flavour == "nogil");
  EXPECT_EQ(layout.value().thread_frame, 72U);
}

INSTANTIATE_TEST_SUITE_P(All, LayoutOfInterpreter, testing::ValuesIn(Interpreters()),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LayoutOfInterpreter);
INSTANTIATE_TEST_SUITE_P(All, DescriptionOfInterpreter, testing::ValuesIn(Interpreters(13)),
                         [](const auto& one) { return one.param.Label(); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DescriptionOfInterpreter);

TEST(LayoutFor, NamesTheVersionThatItRefuses) {
  const auto old = LayoutFor(PythonVersion::FromHex(0x030710f0), false);
  ASSERT_TRUE(old.has_error());
  EXPECT_EQ(old.error().code, Code::kUnimplemented);
  EXPECT_EQ(old.error().message, "CPython 3.7.16 is not supported: " + SupportedRange() + " are");
  const auto beta = LayoutFor(PythonVersion::FromHex(0x030c00b2), false);
  ASSERT_TRUE(beta.has_error());
  EXPECT_NE(beta.error().message.find("3.12.0b2"), std::string::npos);
}

TEST(LayoutFor, EveryFieldIsOnceInTheTable) {
  std::set<std::string_view> names;
  for (const LayoutField& field : LayoutFields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
  }
}

TEST(ValidateLayout, RefusesWhatCannotBe) {
  Layout layout = LayoutFor(PythonVersion::FromHex(0x030b07f0), false).value();
  layout.frame_previous = 1 << 20;
  EXPECT_TRUE(ValidateLayout(layout).has_error());
  layout = LayoutFor(PythonVersion::FromHex(0x030b07f0), false).value();
  layout.thread_next = 9;
  EXPECT_TRUE(ValidateLayout(layout).has_error());
  layout = LayoutFor(PythonVersion::FromHex(0x030b07f0), false).value();
  layout.code_line_table = kAbsent;
  const auto missing = ValidateLayout(layout);
  ASSERT_TRUE(missing.has_error());
  EXPECT_NE(missing.error().message.find("code.line_table"), std::string::npos);
}

}  // namespace
}  // namespace ptrace_prof
