// The captures of a daemon: making, finding, following, ending, forgetting and reading them.
//
// Single-threaded. Every call but Watch and the stream of Fetch ends within seconds, whatever the daemon does. The
// stream must not outlive the client. Create and Watch get over a broken connection by themselves (retries.h).
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
  kUntilNow,  // ends where the trace ends now
  kFollow,    // goes on until the capture has ended
};

enum class DeleteMode : uint8_t {
  kEndedOnly,
  kForce,  // cancels it first
};

class CaptureClient {
 public:
  virtual ~CaptureClient() = default;

  // Starts one that goes on without us, and is kept until it is deleted; an error where the target cannot be recorded.
  // One and not two, however often the connection breaks meanwhile: every try carries the same request ID.
  virtual Result<RemoteCapture> Create(const CaptureTask& request) = 0;
  // Newest first.
  virtual Result<std::vector<RemoteCapture>> List() = 0;
  virtual Result<RemoteCapture> Get(const std::string& name) = 0;
  // Shows every event until the last one, or until `show` says that it is enough (false). Each time the connection is
  // lost, or cannot be made again, `lost` is told why and how long we wait. kUnavailable: nobody came back; kNotFound:
  // another daemon did.
  using Show = std::function<bool(const RemoteCapture&)>;
  using Lost = std::function<void(const std::string& why, Nanos pause)>;
  virtual Result<void> Watch(const std::string& name, const Show& show, const Lost& lost) = 0;
  virtual Result<RemoteCapture> Cancel(const std::string& name) = 0;
  virtual Result<void> Delete(const std::string& name, DeleteMode mode) = 0;
  // Its trace. Stopping the stream does not end the capture.
  virtual std::unique_ptr<CaptureStream> Fetch(const std::string& name, FetchMode mode) = 0;
};

std::unique_ptr<CaptureClient> MakeCaptureClient(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace ptrace_prof
