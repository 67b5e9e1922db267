// Splits one SampleBatch into messages: usually one, several if it has very many different stacks.
//
// A part holds at most kPartBytes. Its tables of frames and stacks contain only what its threads use and no earlier
// part contains; indexes continue across parts. Values of the whole batch (times, counters, totals, the end) are not
// written here. Samples that do not fit into kMostParts, and stacks with a name too large for a message, are left out
// and counted. Single-threaded.
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
  static constexpr size_t kMostBytes = kPartBytes / 2;  // of one item

  static constexpr int kMostParts = 64;

  // `process_names` holds the names of processes from earlier batches; those of this batch are added.
  BatchParts(SampleBatch batch, std::map<Pid, std::string>& process_names);

  // Writes the next part; returns whether another one follows.
  bool Fill(ptraceprof::v1::SampleBatch* out);

  uint64_t left_out() const { return left_out_; }  // samples
  const SampleBatch& batch() const { return batch_; }

 private:
  class Part;
  // What earlier parts contain of the batch's tables, and under which index.
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
  std::vector<std::string> texts_;  // batch_.strings, cleaned
  Written written_;
  size_t process_ = 0;  // the next to write
  size_t thread_ = 0;
  size_t stack_ = 0;  // of that thread
  bool is_thread_begun_ = false;
  int parts_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace ptrace_prof
