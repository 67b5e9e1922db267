// Creates, finds, follows, ends, deletes and reads the captures of a daemon.
//
// Single-threaded. Every call except Watch and the stream of Fetch ends within seconds. The stream must not outlive the
// client. Create and Watch recover from a broken connection by themselves (retries.h).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/remote/capture_backend.h"
#include "client/remote/remote_capture.h"

namespace grpc {
class Channel;
}

namespace ptrace_prof {

enum class FetchMode : uint8_t {
  kUntilNow,  // ends at the current end of the trace
  kFollow,    // continues until the capture has ended
};

enum class DeleteMode : uint8_t {
  kEndedOnly,
  kForce,  // cancels it first
};

class CaptureClient {
 public:
  virtual ~CaptureClient() = default;

  // Starts a capture that continues without this process and is kept until it is deleted. An error if the target cannot
  // be recorded. Creates one capture, however often the connection breaks: every try carries the same request ID.
  virtual Result<RemoteCapture> Create(const CaptureTask& request) = 0;
  // Newest first.
  virtual Result<std::vector<RemoteCapture>> List() = 0;
  virtual Result<RemoteCapture> Get(const std::string& name) = 0;
  // Passes every event to `show` until the last one, or until `show` returns false. Each time the connection is lost or
  // cannot be restored, `lost` gets the cause and the pause before the next try. kUnavailable: no daemon came back;
  // kNotFound: a different daemon did.
  using Show = std::function<bool(const RemoteCapture&)>;
  using Lost = std::function<void(const std::string& why, Nanos pause)>;
  virtual Result<void> Watch(const std::string& name, const Show& show, const Lost& lost) = 0;
  virtual Result<RemoteCapture> Cancel(const std::string& name) = 0;
  virtual Result<void> Delete(const std::string& name, DeleteMode mode) = 0;
  // The trace of the capture. Stopping the stream does not end the capture.
  virtual std::unique_ptr<CaptureStream> Fetch(const std::string& name, FetchMode mode) = 0;
};

std::unique_ptr<CaptureClient> MakeCaptureClient(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace ptrace_prof
