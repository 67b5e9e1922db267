// The batch in a message of StreamSamples. Bytes of a server are not trusted: what points nowhere is left out and
// counted as lost.
#pragma once

#include "daemon/trace/sample_batch.h"

namespace ptraceprof::v1 {
class SampleBatch;
}

namespace ptrace_prof {

SampleBatch BatchOf(const ptraceprof::v1::SampleBatch& message);

}  // namespace ptrace_prof
