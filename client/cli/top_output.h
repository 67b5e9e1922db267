// The two ways in which `top` shows its samples, and what they have in common: how it went.
//
// Each runs until the source ends (the text), the person quits or a signal asks to end; the source is stopped then.
#pragma once

#include <optional>

#include "client/cli/interrupts.h"
#include "client/cli/sample_source.h"
#include "client/cli/top_model.h"

namespace ptrace_prof {

struct TopSettings {
  Pid pid;
  Nanos interval;
  TopQuery query;
  size_t limit = 20;   // rows of a block of text
  uint64_t count = 0;  // blocks of text; 0: until it ends
};

// Blocks of plain text on standard output, each about the interval before it. Ends without an error when nobody reads
// any more (EPIPE; SIGPIPE must be ignored).
Result<void> RunTopText(SampleSource& source, const SampleBatch& first, const TopSettings& settings,
                        const Interrupts& interrupts);

}  // namespace ptrace_prof
