#include "attach/inject/bootstrap_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <set>

namespace ptrace_prof {
namespace {

constexpr char kName[] = "ptrace-prof-stub.0123456789abcdef";

LoadRequest Load() { return {Pid(2'000'000'000), 1'000'000, kName, {}, "ptrace-prof-stub.", "_ptrace_prof_stub", 0}; }

// The text must begin with a `try`, and hold two string literals whose content cannot end them.
void ExpectGuarded(const std::string& text) {
  EXPECT_TRUE(text.starts_with(kTextBegin));
  EXPECT_LT(text.size(), kMaxTextBytes);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2);
  EXPECT_EQ(std::ranges::count(text, '"'), 4);
}

TEST(BootstrapText, IsGuardedAndOfBoundedLength) {
  ExpectGuarded(MakeFileText({Pid(2'000'000'000), kName, RemoteAddr(UINT64_MAX)}));
  LoadRequest longest = Load();
  longest.strays = std::vector<int32_t>(4, 1'000'000);
  longest.salt = UINT32_MAX;
  ExpectGuarded(LoadText(longest));
  ExpectGuarded(CloseText(std::vector<int32_t>(32, 1'000'000), longest.prefix, SignalAgain::kByInterpreter));
}

TEST(BootstrapText, AScriptKnowsItsLengthAndItsPath) {
  const std::string text = LoadText(Load());
  const std::string script = AsScript(text, Pid(4711), "/tmp/some.py");
  EXPECT_TRUE(script.starts_with(kTextBegin));
  EXPECT_TRUE(script.ends_with(text.substr(kTextBegin.size())));
  EXPECT_EQ(std::ranges::count(script, '\n'), 2);
  EXPECT_NE(script.find("p.open('/tmp/some.py',"), std::string::npos);
  EXPECT_NE(script.find("getpid()==4711"), std::string::npos);
  char length[16];
  std::snprintf(length, sizeof length, "f==0x%08zx", script.size() + 1);
  EXPECT_NE(script.find(length), std::string::npos) << script;
}

TEST(BootstrapText, LetsPassInsteadOfComingAgain) {
  const std::string text = LoadText(Load());
  const std::string passing = AsPropagating(text);
  EXPECT_TRUE(passing.starts_with(kTextBegin));
  EXPECT_LT(passing.size(), text.size());
  EXPECT_EQ(std::ranges::count(passing, '"'), 4);
  EXPECT_NE(passing.find("\nexcept(RecursionError,MemoryError):0\nexcept BaseException:"), std::string::npos);
  EXPECT_EQ(text.find("if n:raise"), std::string::npos);
  EXPECT_NE(passing.find("if n:raise\""), std::string::npos);
  EXPECT_EQ(passing.find("start_new_thread"), std::string::npos);
  EXPECT_EQ(AsPropagating("pass\n"), "pass\n");
}

TEST(BootstrapText, HasASignalComeAgainAsTheTargetCan) {
  LoadRequest request = Load();
  EXPECT_NE(LoadText(request).find("start_new_thread(s.raise_signal,(n,))"), std::string::npos);
  request.again = SignalAgain::kByInterpreter;
  EXPECT_NE(LoadText(request).find("start_new_thread(t.interrupt_main,(n,))"), std::string::npos);
  EXPECT_NE(AsPropagating(LoadText(request)).find("if n:raise\",{})"), std::string::npos);
}

TEST(BootstrapText, GivesNoSizeToAFile) {  // a file size limit of the target's would kill it
  EXPECT_EQ(MakeFileText({Pid(1), kName, RemoteAddr()}).find("ftruncate"), std::string::npos);
}

TEST(BootstrapText, UsesAnotherFunctionOnlyWhereThereIsOne) {
  EXPECT_EQ(MakeFileText({Pid(1), kName, RemoteAddr()}).find("_ctypes"), std::string::npos);
  EXPECT_NE(MakeFileText({Pid(1), kName, RemoteAddr(4711)}).find("call_function(4711,"), std::string::npos);
}

TEST(BootstrapText, NamesTheSameFileByAnotherPathEachTime) {
  std::set<std::string> seen;
  for (int salt = 0; salt <= UINT16_MAX; ++salt) {
    LoadRequest request = Load();
    request.salt = static_cast<uint32_t>(salt) * 65537;  // both halves
    seen.insert(LoadText(request));
  }
  EXPECT_EQ(seen.size(), size_t{UINT16_MAX} + 1);
}

}  // namespace
}  // namespace ptrace_prof
