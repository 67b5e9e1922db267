#include "daemon/server/service/batch_parts.h"

#include <google/protobuf/util/time_util.h>

#include <utility>

#include "attach/base/clean_text.h"
#include "daemon/trace/state_name.h"
#include "ptraceprof/v1/capture_service.pb.h"

namespace ptrace_prof {
namespace {

namespace v1 = ptraceprof::v1;
using google::protobuf::util::TimeUtil;

// Upper limits for the size of each item in a message, without its texts.
constexpr size_t kFrameBytes = 48;
constexpr size_t kIndexBytes = 5;
constexpr size_t kStackBytes = 2 + 2 * (1 + kIndexBytes);
constexpr size_t kCountBytes = 2 * kIndexBytes + 10;
constexpr size_t kThreadBytes = 96;
constexpr size_t kProcessBytes = 64;

}  // namespace

// A message that is being filled, and its size so far.
class BatchParts::Part {
 public:
  enum class Fits { kYes, kInTheNext, kNever };

  Part(const SampleBatch& batch, const std::vector<std::string>& texts, Written& written, v1::SampleBatch* out)
      : batch_(batch), texts_(texts), written_(written), out_(out) {}

  Fits Reserve(size_t bytes) {
    if (bytes > kMostBytes) {
      return Fits::kNever;
    }
    if (bytes_ > 0 && bytes_ + bytes > kPartBytes) {
      return Fits::kInTheNext;
    }
    bytes_ += bytes;
    return Fits::kYes;
  }

  v1::SampledProcess* AddProcess() { return out_->add_processes(); }
  v1::SampledThread* AddThread() { return out_->add_threads(); }

  Fits Count(const SampleBatch::StackCount& counted, v1::SampledThread* thread) {
    if (const Fits fits = Write(counted.stack); fits != Fits::kYes) {
      return fits;
    }
    if (const Fits fits = Reserve(kCountBytes); fits != Fits::kYes) {
      return fits;
    }
    thread->add_stacks(written_.stacks[counted.stack]);
    thread->add_counts(counted.count);
    return Fits::kYes;
  }

 private:
  // Writes callers first. If the message becomes full, the next part continues with what is missing.
  Fits Write(uint32_t stack) {
    path_.clear();
    for (uint32_t at = stack; written_.stacks[at] == Written::kNotYet; at = batch_.stacks[at - 1].parent) {
      path_.push_back(at);
    }
    for (; !path_.empty(); path_.pop_back()) {
      const SampleBatch::Stack& node = batch_.stacks[path_.back() - 1];
      const bool has_frame = written_.frames[node.frame] != Written::kNotYet;
      if (const Fits fits = Reserve(kStackBytes + (has_frame ? 0 : BytesOf(node.frame))); fits != Fits::kYes) {
        return fits;
      }
      if (!has_frame) {
        WriteFrame(node.frame);
      }
      v1::SampledStack& written = *out_->add_stacks();
      written.set_frame(written_.frames[node.frame]);
      written.set_parent(written_.stacks[node.parent]);
      written_.stacks[path_.back()] = ++written_.stack_count;
    }
    return Fits::kYes;
  }

  size_t BytesOf(uint32_t frame) const {
    const SampleBatch::Frame& added = batch_.frames[frame];
    return kFrameBytes + texts_[added.function].size() + texts_[added.file].size();
  }

  void WriteFrame(uint32_t frame) {
    const SampleBatch::Frame& from = batch_.frames[frame];
    v1::SampledFrame& written = *out_->add_frames();
    written.set_function(texts_[from.function]);
    written.set_file(texts_[from.file]);
    written.set_line(from.line);
    written.set_first_line(from.first_line);
    written.set_is_marker(from.kind == FrameKind::kMarker);
    written_.frames[frame] = written_.frame_count++;
  }

  const SampleBatch& batch_;
  const std::vector<std::string>& texts_;
  Written& written_;
  v1::SampleBatch* out_;
  size_t bytes_ = 0;
  std::vector<uint32_t> path_;  // scratch
};

BatchParts::BatchParts(SampleBatch batch, std::map<Pid, std::string>& process_names)
    : batch_(std::move(batch)), process_names_(process_names) {
  texts_.reserve(batch_.strings.size());
  for (const std::string& text : batch_.strings) {
    texts_.push_back(CleanText(text));
  }
  for (const SampleBatch::Process& process : batch_.processes) {
    process_names_[process.pid] = CleanText(process.name);
  }
  written_.frames.assign(batch_.frames.size(), Written::kNotYet);
  written_.stacks.assign(batch_.stacks.size() + 1, Written::kNotYet);
  written_.stacks[0] = 0;
}

bool BatchParts::Fill(v1::SampleBatch* out) {
  Part part(batch_, texts_, written_, out);
  bool is_whole = FillProcesses(part);
  while (is_whole && thread_ < batch_.threads.size()) {
    is_whole = FillThread(part);
  }
  if (!is_whole && ++parts_ == kMostParts) {
    LeaveOutTheRest();
    return false;
  }
  return !is_whole;
}

void BatchParts::LeaveOutTheRest() {
  for (; thread_ < batch_.threads.size(); ++thread_, stack_ = 0) {
    const auto& stacks = batch_.threads[thread_].stacks;
    for (; stack_ < stacks.size(); ++stack_) {
      left_out_ += stacks[stack_].count;
    }
  }
}

bool BatchParts::FillProcesses(Part& part) {
  for (; process_ < batch_.processes.size(); ++process_) {
    const SampleBatch::Process& from = batch_.processes[process_];
    const std::string command = CleanText(from.command);
    const std::string python = CleanText(from.python);
    const std::string& name = process_names_[from.pid];
    if (part.Reserve(kProcessBytes + name.size() + command.size() + python.size()) != Part::Fits::kYes) {
      return false;
    }
    v1::SampledProcess& written = *part.AddProcess();
    written.set_pid(from.pid.value);
    written.set_parent_pid(from.parent_pid.value);
    written.set_name(name);
    written.set_command(command);
    written.set_python_version(python);
  }
  return true;
}

bool BatchParts::FillThread(Part& part) {
  const SampleBatch::Thread& from = batch_.threads[thread_];
  const std::string name = CleanText(from.name);
  const std::string& process_name = process_names_[from.pid];
  if (part.Reserve(kThreadBytes + name.size() + process_name.size()) != Part::Fits::kYes) {
    return false;
  }
  v1::SampledThread& written = *part.AddThread();
  written.set_pid(from.pid.value);
  written.set_tid(from.tid.value);
  written.set_name(name);
  written.set_process_name(process_name);
  written.set_is_main(from.is_main);
  written.set_state(std::string(StateName(from.state)));
  written.set_holds_gil(from.holds_gil);
  if (!std::exchange(is_thread_begun_, true)) {
    *written.mutable_gil_time() = TimeUtil::NanosecondsToDuration(from.gil_time.value);
  }
  for (; stack_ < from.stacks.size(); ++stack_) {
    switch (part.Count(from.stacks[stack_], &written)) {
      case Part::Fits::kYes: break;
      case Part::Fits::kInTheNext: return false;
      case Part::Fits::kNever: left_out_ += from.stacks[stack_].count; break;
    }
  }
  ++thread_;
  stack_ = 0;
  is_thread_begun_ = false;
  return true;
}

}  // namespace ptrace_prof
