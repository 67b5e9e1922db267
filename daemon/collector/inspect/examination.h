// The protocol between the privileged collector and the confined child that examines the processes of one owner: the
// child's work, and how its answers are read.
//
// A target may have subverted the child, so its bytes are hostile. An answer can only fill in fields that come from the
// memory of that owner's own process, and an invalid answer ends the exchange. An answer is one byte (Outcome), four
// bytes of length (little-endian) and an encoded ProcessEntry. Answers come in the order of the questions, as they are
// found.
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

// What a child does about a process that it may not examine. `kTellWhy` explains the refusal (for the last attempt).
enum class OnRefusal : uint8_t { kReportWhy, kLeaveToOthers };

// Why the child may not examine anything, and the identity that it had before it became the owner.
struct Denial {
  std::optional<Error> error;
  Asker asker;
};

// Runs in the child. With an error in `denial` it examines nothing and only explains the error.
void AnswerAll(std::span<const Candidate* const> candidates, OnRefusal on_refusal, const Denial& denial,
               ByteSink& sink);

struct Answer {
  Outcome outcome = Outcome::kNotPython;
  ProcessEntry entry;
};
// Runs in the collector: the valid answers of a child to these questions; there may be fewer than questions.
std::vector<Answer> ReadAnswers(std::string_view bytes, std::span<const Candidate* const> candidates);

}  // namespace ptrace_prof
