// `top` as plain text: a block on standard output for every interval, about that interval.
//
// Runs until the source ends, the blocks are complete or a signal asks to end. One thread.
#pragma once

#include "client/cli/interrupts.h"
#include "client/cli/top/top_settings.h"
#include "client/remote/sample_source.h"

namespace ptrace_prof {

// Ends without an error when nobody reads any more (EPIPE; SIGPIPE must be ignored). kResourceExhausted:
// the output cannot be written.
Result<void> PrintTopBlocks(SampleSource& source, const SampleBatch& first, const TopSettings& settings,
                            const Interrupts& interrupts);

}  // namespace ptrace_prof
