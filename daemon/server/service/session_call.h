// A StreamCall about one capture, pumped whenever the capture changes.
//
// The capture exists already, or is obtained on a thread of the pool, so that waiting for the launcher does
// not delay other calls. If the call is cancelled meanwhile, it ends when the capture has been obtained.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "daemon/server/captures/capture_session.h"
#include "daemon/server/captures/start_pool.h"
#include "daemon/server/service/stream_call.h"

namespace ptrace_prof {

template <typename Message>
class SessionCall : public StreamCall<Message> {
 public:
  using Session = std::shared_ptr<CaptureSession>;
  // Null: call it again later.
  using Getting = std::function<Result<Session>()>;

  // Call one overload once, when the derived object is complete; the object may be deleted afterwards.
  void Begin(Session session) {
    session_ = std::move(session);
    Adopt();
    listener_ = session_->Subscribe([this] { this->Pump(); });
    this->Open();
  }
  void Begin(StartPool& pool, Getting get) {
    pool_ = &pool;
    get_ = std::move(get);
    Queue();
  }

 protected:
  SessionCall(UnsentBytes& unsent, uint32_t user) : StreamCall<Message>(unsent, user), user_(user) {}
  CaptureSession& session() { return *session_; }
  bool has_session() const { return session_ != nullptr; }
  // Called when the session is set, before it has a listener.
  virtual void Adopt() {}
  void Detach() override {
    if (has_session()) {
      session_->Unsubscribe(listener_);
    }
  }

 private:
  void Queue() {
    const auto queued = pool_->Add(
        user_, [this] { Get(); }, ticket_);  // from then on this may be deleted
    if (queued.has_error()) {
      this->Open(ToStatus(queued.error()));
    }
  }
  void Get() {
    auto got = get_();
    if (got.has_error()) {
      this->Open(ToStatus(got.error()));
    } else if (got.value() != nullptr) {
      Begin(std::move(got).value());
    } else if (this->is_cancelled()) {
      this->Open();
    } else {
      Queue();
    }
  }
  bool GiveUp() override { return pool_->Withdraw(user_, ticket_); }

  const uint32_t user_;
  StartPool* pool_ = nullptr;
  Getting get_;
  std::atomic<StartPool::Ticket> ticket_ = 0;
  Session session_;
  CaptureSession::ListenerId listener_ = 0;
};

}  // namespace ptrace_prof
