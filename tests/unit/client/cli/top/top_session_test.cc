#include "client/cli/top/top_session.h"

#include <gtest/gtest.h>

#include "client/cli/top/top_pages.h"

namespace ptrace_prof {
namespace {

using Kind = TopKey::Kind;

class TopSessionTest : public testing::Test {
 protected:
  TopSessionTest() {
    SampleBatch batch;
    batch.end = Nanos::FromSeconds(1);
    batch.strings = {"/app/x.py", "step", "load"};
    batch.frames = {{.function = 1, .file = 0, .line = 4, .first_line = 3},
                    {.function = 2, .file = 0, .line = 2, .first_line = 1}};
    batch.stacks = {{.parent = 0, .frame = 0}, {.parent = 0, .frame = 1}};
    batch.processes = {
        {.pid = Pid(71), .parent_pid = Pid(1), .name = "python3", .command = "train.py", .python = "3.11.7"}};
    batch.threads.push_back({.pid = Pid(71),
                             .tid = Tid(72),
                             .name = "\x1b[31mred",
                             .is_main = true,
                             .state = ThreadState::kRunning,
                             .stacks = {{1, 3}, {2, 1}}});
    batch.counters.samples = 4;
    EXPECT_TRUE(model_.Add(batch));
  }

  void Type(const std::string& text) {
    for (const char c : text) {
      session_.OnKey({.kind = Kind::kText, .text = std::string(1, c)});
    }
  }
  void Press(Kind kind) { session_.OnKey({.kind = kind, .text = {}}); }
  std::string Screen(ScreenSize size = {.rows = 30, .columns = 120}) {
    std::string text;
    const std::vector<TopLine> lines = DrawTop(session_, size);
    EXPECT_LE(lines.size(), static_cast<size_t>(size.rows));
    for (const TopLine& line : lines) {
      EXPECT_EQ(line.text.find('\x1b'), std::string::npos);
      EXPECT_EQ(line.text.find('\n'), std::string::npos);
      text += line.text + "\n";
    }
    return text;
  }
  bool Shows(const std::string& words) { return Screen().find(words) != std::string::npos; }

  TopModel model_{Nanos::FromSeconds(5)};
  int reads_ = 0;
  TopSession session_{model_, Pid(71), [this](Pid, const std::string& path) -> Result<SourceFile> {
                        ++reads_;
                        if (path != "/app/x.py") {
                          return Error{Code::kNotFound, "no source of it", ""};
                        }
                        return SourceFile{.where = path, .lines = {"def load():", "  read()", "def step():", "  go()"}};
                      }};
};

TEST_F(TopSessionTest, TheTable) {
  EXPECT_TRUE(Shows("process 71: train.py, CPython 3.11.7"));
  EXPECT_TRUE(Shows("   75.0     75.0         3         3  step (/app/x.py:3)"));
  EXPECT_TRUE(Shows("   25.0     25.0         1         1  load (/app/x.py:1)"));
  EXPECT_TRUE(Shows("q Quit"));
  Type("2");
  EXPECT_TRUE(Shows("| go()"));
  EXPECT_TRUE(Shows("| read()"));
  EXPECT_EQ(reads_, 1) << "a file is read once";
  Type("3");
  EXPECT_TRUE(Shows("\\x1b[31mred"));
  Press(Kind::kTab);
  EXPECT_TRUE(Shows("PROCESS"));
  Press(Kind::kTab);
  EXPECT_TRUE(Shows("FUNCTION"));
}

TEST_F(TopSessionTest, FiltersWhileOneTypes) {
  Type("/lox");
  EXPECT_EQ(session_.page(), TopSession::Page::kFilter);
  EXPECT_TRUE(Shows("filter: lox_"));
  EXPECT_TRUE(Shows("nothing matches"));
  Press(Kind::kBackspace);
  EXPECT_EQ(model_.rows().size(), 1U);
  Press(Kind::kEnter);
  Type("q/");
  EXPECT_TRUE(session_.wants_to_quit());
  Type("zz");
  Press(Kind::kEscape);
  EXPECT_EQ(model_.query().filter, "lo") << "as it was before";
  Press(Kind::kEscape);
  EXPECT_EQ(model_.query().filter, "");
}

TEST_F(TopSessionTest, WholeCharactersAreTakenBack) {
  Type("/a");
  session_.OnKey({.kind = Kind::kText, .text = "я"});
  Press(Kind::kBackspace);
  EXPECT_EQ(model_.query().filter, "a");
  Press(Kind::kBackspace);
  Press(Kind::kBackspace);
  EXPECT_EQ(model_.query().filter, "");
}

TEST_F(TopSessionTest, SourceOfTheSelected) {
  Press(Kind::kDown);
  Press(Kind::kEnter);
  EXPECT_EQ(session_.page(), TopSession::Page::kSource);
  EXPECT_EQ(session_.source().line, 1);
  EXPECT_TRUE(Shows("   25.0     25.0      2    read()"));
  EXPECT_TRUE(Shows("   75.0     75.0      4    go()"));
  Type("n");
  EXPECT_EQ(session_.source().line, 2);
  Type("n");
  EXPECT_EQ(session_.source().line, 4);
  Type("nN");
  EXPECT_EQ(session_.source().line, 2);
  Press(Kind::kPageDown);
  EXPECT_EQ(session_.source().line, 4);
  Press(Kind::kHome);
  EXPECT_EQ(session_.source().line, 1);
  Press(Kind::kEnd);
  EXPECT_EQ(session_.source().line, 4);
  Type("?");
  EXPECT_TRUE(Shows("Any key goes back"));
  Type("x");
  EXPECT_EQ(session_.page(), TopSession::Page::kSource);
  Press(Kind::kEscape);
  EXPECT_EQ(session_.page(), TopSession::Page::kTable);
}

TEST_F(TopSessionTest, EntersAThreadAndComesBack) {
  Type("3");
  Press(Kind::kEnter);
  EXPECT_TRUE(Shows("functions of thread 72"));
  Press(Kind::kEscape);
  EXPECT_TRUE(Shows("threads: 1"));
}

TEST_F(TopSessionTest, SaysThatItEnded) {
  session_.SetNotice("process 71 ended\u202e");
  EXPECT_TRUE(Shows("process 71 ended\\u202e"));
  EXPECT_TRUE(Shows("step ("));
}

TEST_F(TopSessionTest, SmallScreens) {
  for (int rows = 0; rows < 12; ++rows) {
    for (int columns : {0, 1, 5, 39, 99, 100, 101, 500}) {
      for (const char* keys : {"1", "2", "3", "4", "?"}) {
        Type(keys);
        Screen({.rows = std::max(rows, 1), .columns = columns});
      }
      Type("x");
    }
  }
}

}  // namespace
}  // namespace ptrace_prof
