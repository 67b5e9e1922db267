// A StreamCall about one capture: pumped whenever that changes.
#pragma once

#include <memory>
#include <utility>

#include "daemon/service/stream_call.h"
#include "daemon/session/capture_session.h"

namespace ptrace_prof {

template <typename Message>
class SessionCall : public StreamCall<Message> {
 public:
  // Call once, when the derived object is whole.
  void Begin() {
    listener_ = session_->Subscribe([this] { this->Pump(); });
    this->Pump();
  }

 protected:
  SessionCall(std::shared_ptr<CaptureSession> session, UnsentBytes& unsent, uint32_t user)
      : StreamCall<Message>(unsent, user), session_(std::move(session)) {}
  CaptureSession& session() { return *session_; }
  const std::shared_ptr<CaptureSession>& shared_session() { return session_; }
  void Detach() override { session_->Unsubscribe(listener_); }

 private:
  const std::shared_ptr<CaptureSession> session_;
  CaptureSession::ListenerId listener_ = 0;
};

}  // namespace ptrace_prof
