// StreamSamples: a capture that is not kept, sent as batches of counted stacks.
#pragma once

#include <functional>
#include <memory>

#include "attach/base/types.h"
#include "daemon/server/captures/capture_session.h"
#include "daemon/server/service/reader.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"

namespace ptrace_prof {

using SamplesWriter = grpc::ServerWriteReactor<ptraceprof::v1::SampleBatch>;

// The requested interval. kInvalidArgument: shorter than 50 ms or longer than an hour.
Result<Nanos> IntervalFrom(const ptraceprof::v1::StreamSamplesRequest& request);

// The capture that `start` returns is hidden and ends with the call. While a client is slow, its samples are merged
// into one batch; those that do not fit are dropped and counted. So only little data waits on disk, however slow the
// client is.
SamplesWriter* StartSamples(std::function<Result<std::shared_ptr<CaptureSession>>()> start, Nanos interval,
                            const Reader& reader);

}  // namespace ptrace_prof
