// What is done with each stretch of steps, as the options say it, and with real files and programs.
#include "client/cli/record/trace_ready.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/trace/write/trace_writer.h"

namespace ptrace_prof {
namespace {

TEST(ParseTraceReadyTest, FoldersAndCommands) {
  EXPECT_FALSE(ParseTraceReady({}).value().has_value());
  const auto plan = ParseTraceReady({"exec:a b", "tensorboard-gz:/logs:1", "exec:c"}).value();
  EXPECT_EQ(plan->folder, "/logs:1");
  EXPECT_TRUE(plan->is_compressed);
  EXPECT_EQ(plan->commands, (std::vector<std::string>{"a b", "c"}));
  EXPECT_FALSE(ParseTraceReady({"tensorboard:logs"}).value()->is_compressed);
}

TEST(ParseTraceReadyTest, AnythingElseIsRefused) {
  for (const char* text : {"", "tensorboard", "tensorboard:", "exec:", "exec", "sh:true", "/logs", ":x"}) {
    const auto plan = ParseTraceReady({text});
    ASSERT_TRUE(plan.has_error()) << text;
    EXPECT_EQ(plan.error().code, Code::kInvalidArgument);
  }
  EXPECT_TRUE(ParseTraceReady({"tensorboard:a", "tensorboard-gz:b"}).has_error());
}

class FileSink : public ByteSink {
 public:
  explicit FileSink(SpoolFile& spool) : spool_(spool) {}
  Result<void> Write(std::span<const std::byte> bytes) override { return spool_.Append(bytes); }

 private:
  SpoolFile& spool_;
};

class TraceReadyTest : public testing::Test {
 public:
  TraceReadyTest() {
    std::filesystem::create_directories(folder);
    FileSink sink(spool);
    StackTable stacks;
    const StackId stack = stacks.InternStack(kEmptyStack, stacks.InternFrame({.function = "f", .file = "a.py"}));
    TraceWriter writer(sink, stacks, CaptureTask());
    writer.AddProcess({.pid = Pid(70), .ns_pid = Pid(70), .name = "python3"});
    const ThreadHandle thread = writer.AddThread({.pid = Pid(70), .tid = Tid(70), .ns_tid = Tid(70), .name = "main"});
    writer.AddSample(thread, Nanos(1000), stack, SampleQuality::kSeen);
    EXPECT_TRUE(writer.Flush().has_value());
  }
  ~TraceReadyTest() override { std::filesystem::remove_all(folder); }

  std::string Script(const std::string& name, const std::string& text) const {
    std::string path = folder + "/" + name;
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return path;
  }
  std::vector<std::string> Files(const std::string& at) const {
    std::vector<std::string> files;
    for (const auto& one : std::filesystem::directory_iterator(at)) {
      files.push_back(one.path().string());
    }
    return files;
  }

  const std::string folder = testing::TempDir() + "/trace_ready_" + std::to_string(::getpid());
  SpoolFile spool = SpoolFile::CreateNameless(folder).value();
};

TEST_F(TraceReadyTest, WritesAFileForEach) {
  TraceReady ready({.folder = folder + "/a/b"}, spool, Pid(70), "out.html");
  ready.Add(TimeRange{Nanos(0), Nanos(2000)});
  ready.Add(std::nullopt);
  ready.Finish(false);
  EXPECT_EQ(ready.count(), 2U);
  EXPECT_TRUE(ready.TakeErrors().empty());
  EXPECT_EQ(ready.TakeNotes().size(), 2U);
  EXPECT_FALSE(ready.has_failed_to_write());
  const auto files = Files(folder + "/a/b");
  ASSERT_EQ(files.size(), 2U);
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  for (const std::string& file : files) {
    EXPECT_TRUE(file.starts_with(folder + "/a/b/" + host + "_70.1")) << file;
    EXPECT_TRUE(file.ends_with(".pt.trace.json")) << file;
  }
}

TEST_F(TraceReadyTest, RunsAProgramWithThePath) {
  const std::string seen = folder + "/seen";
  const std::string script = Script("keep it", "test $# = 1 && test -s \"$1\" && echo \"$1\" >> " + seen);
  TraceReady ready({.folder = folder + "/out", .is_compressed = true, .commands = {script}}, spool, Pid(70), "-");
  ready.Add(std::nullopt);
  ready.Finish(false);
  for (const Error& error : ready.TakeErrors()) {
    ADD_FAILURE() << error.message;
  }
  std::string path;
  std::ifstream lines(seen);
  std::getline(lines, path);
  EXPECT_EQ(Files(folder + "/out"), std::vector{path});
  EXPECT_TRUE(path.ends_with(".pt.trace.json.gz"));
}

TEST_F(TraceReadyTest, SaysWhatFailedAndGoesOn) {
  const std::string done = folder + "/done";
  TraceReady ready({.folder = folder + "/out",
                    .commands = {Script("fails", "exit 3"), Script("dies", "kill -9 $$"), folder + "/none",
                                 Script("works", "touch " + done)}},
                   spool, Pid(70), "-");
  ready.Add(std::nullopt);
  ready.Finish(false);
  const auto errors = ready.TakeErrors();
  ASSERT_EQ(errors.size(), 3U);
  EXPECT_TRUE(errors[0].message.ends_with("/fails exited with 3")) << errors[0].message;
  EXPECT_TRUE(errors[1].message.ends_with("/dies was ended by signal 9")) << errors[1].message;
  EXPECT_TRUE(errors[2].message.ends_with("/none cannot be run: No such file or directory")) << errors[2].message;
  EXPECT_TRUE(std::filesystem::exists(done));
  EXPECT_FALSE(ready.has_failed_to_write());
}

TEST_F(TraceReadyTest, AFileThatCannotBeWrittenIsAnError) {
  std::ofstream(folder + "/file") << "x";
  TraceReady ready({.folder = folder + "/file", .commands = {Script("never", "touch " + folder + "/ran")}}, spool,
                   Pid(70), "-");
  ready.Add(std::nullopt);
  ready.Finish(false);
  EXPECT_EQ(ready.TakeErrors().size(), 1U);
  EXPECT_TRUE(ready.has_failed_to_write());
  EXPECT_FALSE(std::filesystem::exists(folder + "/ran"));
}

TEST_F(TraceReadyTest, WithoutAFolderFilesAreBesideTheOutput) {
  TraceReady ready({.commands = {"true"}}, spool, Pid(70), folder + "/out.html");
  ready.Add(std::nullopt);
  ready.Finish(false);
  EXPECT_EQ(Files(folder).size(), 1U);
}

}  // namespace
}  // namespace ptrace_prof
