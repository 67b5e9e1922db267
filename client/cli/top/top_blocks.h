// `top` as plain text: for every interval a block about that interval on standard output.
//
// Runs until the source ends, the blocks are complete or a signal asks to end. One thread.
#pragma once

#include "client/cli/interrupts.h"
#include "client/cli/top/top_settings.h"
#include "client/remote/sample_source.h"

namespace ptrace_prof {

// Ends without an error when the reader has closed the output (EPIPE; SIGPIPE must be ignored). kResourceExhausted: the
// output cannot be written.
Result<void> PrintTopBlocks(SampleSource& source, const SampleBatch& first, const TopSettings& settings,
                            const Interrupts& interrupts);

}  // namespace ptrace_prof
