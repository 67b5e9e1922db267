#include "attach/inject/text_thunk.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "attach/inject/frame_thunk.h"

namespace ptrace_prof {
namespace {

struct Seen {
  std::string module;
  std::string text;
  int start = 0;
  bool calling = false;
  int released = 0;
};
Seen seen;
TextThunkContext context;
int a_module, a_dictionary, a_result;
bool fails = false;

void* AddModule(const char* name) {
  seen.module = name;
  seen.calling = context.state == static_cast<uint32_t>(ThunkState::kCalling);
  return &a_module;
}
void* GetDictionary(void* module) { return module == &a_module ? &a_dictionary : nullptr; }
void* RunString(const char* text, int start, void* globals, void* locals, void* flags) {
  seen.text = text;
  seen.start = start;
  const bool good = globals == &a_dictionary && locals == &a_dictionary && flags == nullptr;
  return good && !fails ? &a_result : nullptr;
}
void Release(void* object) { seen.released += object == &a_result ? 1 : 0; }

template <typename Function>
uint64_t Address(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

class TextThunkTest : public testing::Test {
 protected:
  void SetUp() override {
    if (TextThunk().empty()) {
      GTEST_SKIP() << "there are none for this machine";
    }
    page_ = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page_, MAP_FAILED);
    std::memcpy(page_, TextThunk().data(), TextThunk().size());
    seen = {};
    context = {};
    context.add_module = Address(AddModule);
    context.get_dictionary = Address(GetDictionary);
    context.run_string = Address(RunString);
    context.release = Address(Release);
    context.text = Address("a text");
  }
  void TearDown() override {
    if (page_ != nullptr) {
      ::munmap(page_, 4096);
    }
  }
  int Call() { return reinterpret_cast<int (*)(void*)>(page_)(&context); }

  void* page_ = nullptr;
};

TEST_F(TextThunkTest, RunsTheText) {
  fails = false;
  EXPECT_EQ(Call(), 0);
  EXPECT_EQ(seen.module, "__main__");
  EXPECT_EQ(seen.text, "a text");
  EXPECT_EQ(seen.start, 257);
  EXPECT_TRUE(seen.calling);
  EXPECT_EQ(seen.released, 1);
  EXPECT_EQ(context.state, static_cast<uint32_t>(ThunkState::kDone));
}

TEST_F(TextThunkTest, FailsAsTheTextDoes) {
  fails = true;
  EXPECT_EQ(Call(), -1);
  EXPECT_EQ(seen.released, 0);
  EXPECT_EQ(context.state, static_cast<uint32_t>(ThunkState::kDone));
}

}  // namespace
}  // namespace ptrace_prof
