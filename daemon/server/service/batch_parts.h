// One SampleBatch as the messages that carry it: one as a rule, several where it has very many different stacks.
//
// A part holds at most kPartBytes, and of the tables of frames and stacks what its own threads name and no part before
// it has: the numbers run on. What belongs to the whole batch (times, counters, totals, the end) is not written here.
// What does not even fit into kMostParts, and a stack with a name that alone would burst a message, is left out and
// counted. Single-threaded.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/trace/read/sample_batch.h"

namespace ptraceprof::v1 {
class SampleBatch;
}

namespace ptrace_prof {

class BatchParts {
 public:
  static constexpr size_t kPartBytes = 1 << 20;
  static constexpr size_t kMostBytes = kPartBytes / 2;  // of one thing in it

  static constexpr int kMostParts = 64;

  // `process_names` is what is known of processes from batches before; it learns from this one.
  BatchParts(SampleBatch batch, std::map<Pid, std::string>& process_names);

  // Writes the next part; whether there is another one.
  bool Fill(ptraceprof::v1::SampleBatch* out);

  uint64_t left_out() const { return left_out_; }  // samples
  const SampleBatch& batch() const { return batch_; }

 private:
  class Part;
  // What the parts so far have of the batch's tables, and under which number.
  struct Written {
    static constexpr uint32_t kNotYet = UINT32_MAX;
    std::vector<uint32_t> frames;  // by number in the batch: index in the messages, or kNotYet
    std::vector<uint32_t> stacks;  // the same; [0] is the empty stack
    uint32_t frame_count = 0;
    uint32_t stack_count = 0;
  };
  bool FillProcesses(Part& part);  // false: no room for the next one
  bool FillThread(Part& part);     // the same
  void LeaveOutTheRest();

  const SampleBatch batch_;
  std::map<Pid, std::string>& process_names_;
  std::vector<std::string> texts_;  // batch_.strings, clean
  Written written_;
  size_t process_ = 0;  // to be written next
  size_t thread_ = 0;
  size_t stack_ = 0;  // of that thread
  bool is_thread_begun_ = false;
  int parts_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace ptrace_prof
