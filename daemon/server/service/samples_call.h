// StreamSamples: a capture that nobody keeps, shown as batches of counted stacks.
#pragma once

#include <functional>
#include <memory>

#include "attach/base/types.h"
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/service/reader.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"

namespace ptrace_prof {

using SamplesWriter = grpc::ServerWriteReactor<ptraceprof::v1::SampleBatch>;

// The interval that was asked for. kInvalidArgument: shorter than 50 ms, longer than an hour.
Result<Nanos> IntervalFrom(const ptraceprof::v1::StreamSamplesRequest& request);

// The capture that `start` gives is hidden and ends with the call. While a client is slow its samples are counted
// together; what does not fit into a batch then is thinned, and counted as such. So little of it waits on disk, however
// slow the client is.
SamplesWriter* StartSamples(std::function<Result<std::shared_ptr<CaptureSession>>()> start, Nanos interval,
                            const Reader& reader);

}  // namespace ptrace_prof
