#include "client/cli/top/top_model.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

// A short notation for batches: {"thread of 71", {"main:3 f:10", count}}, outermost first. The file is /app/x.py, and a
// definition is ten lines above its line.
class BatchMaker {
 public:
  explicit BatchMaker(double begin, double end) {
    batch_.begin = Nanos::FromSeconds(begin);
    batch_.end = Nanos::FromSeconds(end);
    batch_.strings = {"/app/x.py"};
  }
  BatchMaker& Process(int32_t pid, int32_t parent, std::string command) {
    batch_.processes.push_back({.pid = Pid(pid),
                                .parent_pid = Pid(parent),
                                .name = "python3",
                                .command = std::move(command),
                                .python = "3.11.7"});
    return *this;
  }
  BatchMaker& Thread(int32_t pid, int32_t tid, std::string name, ThreadState state = ThreadState::kRunning) {
    batch_.threads.push_back({.pid = Pid(pid), .tid = Tid(tid), .name = std::move(name), .state = state, .stacks = {}});
    return *this;
  }
  BatchMaker& Gil(Nanos time) {
    batch_.threads.back().gil_time = time;
    return *this;
  }
  BatchMaker& Stack(const std::string& frames, uint64_t count) {
    uint32_t stack = 0;
    for (size_t at = 0; at < frames.size();) {
      const size_t end = std::min(frames.find(' ', at), frames.size());
      stack = Push(stack, frames.substr(at, end - at));
      at = end + 1;
    }
    batch_.threads.back().stacks.push_back({stack, count});
    batch_.counters.samples += count;
    return *this;
  }
  operator const SampleBatch&() const { return batch_; }  // NOLINT(google-explicit-constructor)
  SampleBatch batch_;

 private:
  uint32_t Push(uint32_t parent, const std::string& text) {
    batch_.strings.push_back(text.substr(0, text.find(':')));
    const int line = std::stoi(text.substr(text.find(':') + 1));
    batch_.frames.push_back(
        {.function = static_cast<uint32_t>(batch_.strings.size() - 1), .line = line, .first_line = line / 10 * 10});
    batch_.stacks.push_back({parent, static_cast<uint32_t>(batch_.frames.size() - 1)});
    return static_cast<uint32_t>(batch_.stacks.size());
  }
};

std::vector<std::string> Texts(const TopModel& model) {
  std::vector<std::string> texts;
  for (const TopRow& row : model.rows()) {
    texts.push_back(row.name + " " + std::to_string(row.self) + "/" + std::to_string(row.total));
  }
  return texts;
}
using Lines = std::vector<std::string>;

BatchMaker Simple(double begin = 0) {
  return BatchMaker(begin, begin + 1)
      .Process(71, 1, "python3 train.py")
      .Thread(71, 71, "MainThread")
      .Stack("main:11 step:21", 6)
      .Stack("main:12 load:31", 3)
      .Stack("main:13", 1);
}

TEST(TopModel, SelfAndTotalOfFunctions) {
  TopModel model(Nanos::FromSeconds(5));
  ASSERT_TRUE(model.Add(Simple()));
  EXPECT_EQ(Texts(model), (Lines{"step 6/6", "load 3/3", "main 1/10"}));
  EXPECT_DOUBLE_EQ(model.rows()[0].self_share, 0.6);
  EXPECT_DOUBLE_EQ(model.rows()[2].total_share, 1);
  EXPECT_EQ(model.rows()[0].file, "/app/x.py");
  EXPECT_EQ(model.rows()[0].line, 20) << "of the definition";
  EXPECT_EQ(model.tally().samples(), 10U);
}

TEST(TopModel, RecursionCountsOnce) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(BatchMaker(0, 1).Thread(71, 71, "t").Stack("f:12 f:14 g:20 f:12", 5));
  EXPECT_EQ(Texts(model), (Lines{"f 5/5", "g 0/5"}));
  model.SetView(TopView::kLines);
  EXPECT_EQ(Texts(model), (Lines{"f 5/5", "f 0/5", "g 0/5"}));
  EXPECT_EQ(model.rows()[0].line, 12);
}

TEST(TopModel, ComprehensionsDoNotDoubleTheirLine) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(BatchMaker(0, 1).Thread(71, 71, "t").Stack("f:12 <listcomp>:12", 5).Stack("f:13", 2));
  const auto lines = model.LinesOf("/app/x.py");
  EXPECT_EQ(lines.at(12).self, 5U);
  EXPECT_EQ(lines.at(12).total, 5U);
  EXPECT_EQ(lines.at(13).total, 2U);
  EXPECT_TRUE(model.LinesOf("/app/y.py").empty());
}

TEST(TopModel, SortsAndReverses) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(Simple());
  model.SetSort(TopSort::kTotal);
  EXPECT_EQ(Texts(model), (Lines{"main 1/10", "step 6/6", "load 3/3"}));
  model.SetSort(TopSort::kName);
  EXPECT_EQ(Texts(model), (Lines{"load 3/3", "main 1/10", "step 6/6"}));
  model.SetSort(TopSort::kName);
  EXPECT_EQ(Texts(model), (Lines{"step 6/6", "main 1/10", "load 3/3"}));
  model.SetSort(TopSort::kSelf);
  EXPECT_EQ(Texts(model), (Lines{"step 6/6", "load 3/3", "main 1/10"})) << "another order begins unreversed";
}

TEST(TopModel, FilterLooksAtNamesAndFiles) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(Simple());
  model.SetFilter("LOA");
  EXPECT_EQ(Texts(model), (Lines{"load 3/3"}));
  EXPECT_DOUBLE_EQ(model.rows()[0].self_share, 0.3) << "still of everything";
  model.SetFilter("x.py");
  EXPECT_EQ(model.rows().size(), 3U);
  model.SetFilter("nothing");
  EXPECT_TRUE(model.rows().empty());
  EXPECT_EQ(model.selected_row(), nullptr);
  model.MoveSelection(3);
}

TEST(TopModel, TheWindowSlides) {
  TopModel model(Nanos::FromSeconds(2));
  for (int second = 0; second < 10; ++second) {
    model.Add(BatchMaker(second, second + 1).Thread(71, 71, "t").Stack("f" + std::to_string(second) + ":10", 1));
  }
  EXPECT_EQ(Texts(model), (Lines{"f8 1/1", "f9 1/1"}));
  EXPECT_EQ(model.tally().samples(), 2U);
  EXPECT_EQ(model.tally().span(), Nanos::FromSeconds(2));
  model.ToggleSinceStart();
  EXPECT_EQ(model.rows().size(), 10U);
  EXPECT_EQ(model.tally().samples(), 10U);
  model.ClearCounts();
  EXPECT_TRUE(model.rows().empty());
  model.Add(Simple(20));
  EXPECT_EQ(model.tally().samples(), 10U);
}

TEST(TopModel, PausedIsFrozenButLosesNothing) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(Simple(0));
  model.TogglePause();
  model.Add(Simple(1));
  EXPECT_EQ(model.tally().samples(), 10U);
  model.SetSort(TopSort::kTotal);
  EXPECT_EQ(Texts(model), (Lines{"main 1/10", "step 6/6", "load 3/3"})) << "can be looked at from other sides";
  model.TogglePause();
  EXPECT_FALSE(model.paused());
  EXPECT_EQ(Texts(model), (Lines{"main 2/20", "step 12/12", "load 6/6"}));
}

TEST(TopModel, CountsThreadsAsTheyWereWhenItWasPaused) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(BatchMaker(0, 1).Thread(71, 71, "MainThread").Stack("main:11", 4));
  model.TogglePause();
  model.Add(BatchMaker(1, 2).Thread(71, 72, "later", ThreadState::kJobStopped));
  EXPECT_EQ(model.live_threads(), 1U);
  EXPECT_EQ(model.stopped_threads(), 0U);
  model.TogglePause();
  EXPECT_EQ(model.live_threads(), 2U);
  EXPECT_EQ(model.stopped_threads(), 1U);
}

TEST(TopModel, ThreadsAndTheirFunctions) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(BatchMaker(0, 1)
                .Thread(71, 71, "MainThread")
                .Stack("main:11", 4)
                .Gil(Nanos::FromMillis(250))
                .Thread(71, 72, "worker")
                .Stack("run:20", 6)
                .Thread(71, 73, "sleeper", ThreadState::kIdle)
                .Thread(71, 74, "gone", ThreadState::kUnknown));
  model.SetView(TopView::kThreads);
  EXPECT_EQ(Texts(model), (Lines{"worker 6/6", "MainThread 4/4", "sleeper 0/0"}));
  EXPECT_EQ(model.live_threads(), 3U);
  EXPECT_DOUBLE_EQ(model.rows()[1].gil_share, 0.25);
  EXPECT_EQ(model.rows()[2].state, ThreadState::kIdle);
  model.MoveSelection(1);
  ASSERT_TRUE(model.Enter());
  EXPECT_EQ(model.query().view, TopView::kFunctions);
  EXPECT_EQ(Texts(model), (Lines{"main 4/4"}));
  EXPECT_FALSE(model.Enter()) << "a function has nothing inside";
  model.SetScope(std::nullopt);
  EXPECT_EQ(model.rows().size(), 2U);
}

TEST(TopModel, ProcessesOfTheTree) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(BatchMaker(0, 1)
                .Process(71, 1, "python3 launch.py")
                .Process(80, 71, "python3 rank0.py")
                .Process(81, 80, "python3 loader.py")
                .Thread(71, 71, "m", ThreadState::kIdle)
                .Thread(80, 80, "m")
                .Stack("main:11", 7)
                .Thread(81, 81, "m")
                .Stack("main:11", 3));
  model.SetView(TopView::kProcesses);
  model.SetSort(TopSort::kTotal);
  EXPECT_EQ(Texts(model), (Lines{"python3 7/10", "python3 0/10", "python3 3/3"}));
  EXPECT_EQ(model.rows()[1].pid, Pid(71));
  EXPECT_EQ(model.rows()[2].parent, Pid(80));
  model.SetFilter("rank0");
  ASSERT_EQ(model.rows().size(), 1U);
  ASSERT_TRUE(model.Enter());
  EXPECT_EQ(Texts(model), (Lines{"main 7/7"}));
}

TEST(TopModel, SelectionStaysWithItsRow) {
  TopModel model(Nanos::FromSeconds(50));
  model.Add(Simple());
  EXPECT_EQ(model.selected_row()->name, "step");
  model.MoveSelection(1);
  EXPECT_EQ(model.selected_row()->name, "load");
  model.Add(BatchMaker(1, 2).Thread(71, 71, "MainThread").Stack("main:12 load:31", 30));
  EXPECT_EQ(model.selected_row()->name, "load");
  EXPECT_EQ(model.selected(), 0U);
  model.MoveSelection(-100);
  EXPECT_EQ(model.selected(), 0U);
  model.MoveSelection(100);
  EXPECT_EQ(model.selected(), 2U);
  model.SetFilter("load");
  EXPECT_EQ(model.selected(), 0U);
}

TEST(TopModel, EmptyStacksAreSaid) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(BatchMaker(0, 1).Thread(71, 71, "native").Stack("", 4));
  EXPECT_EQ(Texts(model), (Lines{"[no Python code] 4/4"}));
}

TEST(TopModel, RefusesABatchThatMakesNoSense) {
  TopModel model(Nanos::FromSeconds(5));
  BatchMaker bad = Simple();
  bad.batch_.threads[0].stacks[0].stack = 99;
  EXPECT_FALSE(model.Add(bad));
  EXPECT_TRUE(model.rows().empty());
}

TEST(TopModel, ManyPlacesEndInOne) {
  TopModel model(Nanos::FromSeconds(1), {.places = 20, .text_bytes = 1 << 20, .threads = 4096, .processes = 4});
  for (int i = 0; i < 100; ++i) {
    model.Add(BatchMaker(i, i + 1).Thread(71, 71, "t").Stack("f" + std::to_string(i) + ":10", 1));
  }
  model.ToggleSinceStart();
  EXPECT_LT(model.rows().size(), 10U);
  EXPECT_EQ(model.rows()[0].name, "[other code]");
  uint64_t self = 0;
  for (const TopRow& row : model.rows()) {
    self += row.self;
  }
  EXPECT_EQ(self, 100U) << "nothing is lost";
}

TEST(TopModel, NumbersOfThreadsThatEndedAreUsedAgain) {
  TopModel model(Nanos::FromSeconds(1), {.places = 1000, .text_bytes = 1 << 20, .threads = 8, .processes = 4});
  for (int i = 0; i < 100; ++i) {
    model.Add(BatchMaker(i, i + 1).Thread(71, 100 + i, "t" + std::to_string(i)).Stack("f:10", 1));
  }
  model.SetView(TopView::kThreads);
  EXPECT_EQ(Texts(model).at(0), "t99 1/1") << "the window knows the newest";
  model.ToggleSinceStart();
  EXPECT_LE(model.rows().size(), 9U);
  EXPECT_EQ(model.rows()[0].name, "[other threads]");
  uint64_t self = 0;
  for (const TopRow& row : model.rows()) {
    self += row.self;
  }
  EXPECT_EQ(self, 100U);
}

TEST(TopModel, ParentsInACircle) {
  TopModel model(Nanos::FromSeconds(5));
  model.Add(BatchMaker(0, 1).Process(5, 6, "a").Process(6, 5, "b").Thread(5, 5, "t").Stack("f:10", 2));
  model.SetView(TopView::kProcesses);
  EXPECT_EQ(model.rows().size(), 2U);
}

}  // namespace
}  // namespace ptrace_prof
