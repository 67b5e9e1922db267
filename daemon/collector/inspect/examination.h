// Between the collector, which has rights, and the confined child that examines the processes of one owner: what the
// child is to do, and how its answers are read.
//
// A child may have been subverted by a target, so its bytes are hostile: an answer can only fill in the fields that
// stem from the memory of that owner's own process, and an answer that makes no sense ends the conversation.
// An answer is one byte (Outcome), four bytes of length (little-endian) and an encoded ProcessEntry; answers come in
// the order of the questions, as they are found.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attach/proc/access_facts.h"
#include "daemon/collector/inspect/process_scan.h"
#include "daemon/collector/inspect/target_examiner.h"
#include "daemon/trace/write/byte_sink.h"

namespace ptrace_prof {

// What a child that is refused a process does: `kTellWhy` finds the words (for the last attempt).
enum class OnRefusal : uint8_t { kTellWhy, kLeaveToOthers };

// What the child may not do from the beginning, and who it was before it became what it is.
struct Denial {
  std::optional<Error> error;
  Asker asker;
};

// In the child. With an error in `denial` it has no right to examine anything and only explains that.
void AnswerAll(std::span<const Candidate* const> candidates, OnRefusal on_refusal, const Denial& denial,
               ByteSink& sink);

struct Answer {
  Outcome outcome = Outcome::kNotPython;
  ProcessEntry entry;
};
// In the collector: the answers of a child to these questions, as many as there are and make sense.
std::vector<Answer> ReadAnswers(std::string_view bytes, std::span<const Candidate* const> candidates);

}  // namespace ptrace_prof
