// `top` on a screen: draws the samples as they arrive and handles the keys.
//
// Runs until the user quits, a signal asks to end or the terminal goes away. When the source ends, the screen says so
// and keeps the last picture. Returns the source's error if there was one. One thread.
#pragma once

#include "client/cli/interrupts.h"
#include "client/cli/top/top_screen.h"
#include "client/cli/top/top_settings.h"
#include "client/remote/sample_source.h"

namespace ptrace_prof {

Result<void> RunTopLive(TopScreen& screen, SampleSource& source, const SampleBatch& first, const TopSettings& settings,
                        const Interrupts& interrupts);

}  // namespace ptrace_prof
