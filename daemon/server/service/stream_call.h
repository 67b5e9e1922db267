// One server-streaming call: a pump that keeps one write outstanding, and ends when it is told or has nothing more.
//
//   made ──Open──► pumped ──► finished        cancelled before Open: GiveUp() says whether that will ever come
//
// Pump() may be called from any thread: by a listener of what the call is about, and by gRPC when a write is done. The
// derived class says what comes next; it is asked under the call's lock and must not block. The object deletes itself
// when gRPC is done with it, after Detach(), which must make sure that nobody calls Pump any more. A message that the
// client does not take counts among what is kept for its user; where that is too much, the call ends with QUOTA.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <mutex>
#include <optional>
#include <utility>

#include "daemon/server/captures/unsent_bytes.h"
#include "daemon/server/service/answer_at_end.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {

template <typename Message>
class StreamCall : public grpc::ServerWriteReactor<Message> {
 public:
  void Pump() {
    const std::lock_guard lock(mutex_);
    PumpLocked();
  }

 protected:
  StreamCall(UnsentBytes& unsent, uint32_t user) : unsent_(unsent), user_(user) {}
  // Once: what it is about is there, or will never be, which ends it. The object may be gone afterwards.
  void Open(std::optional<grpc::Status> failure = std::nullopt) {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    failure_ = std::move(failure);
    PumpLocked();
  }
  bool is_cancelled() {
    const std::lock_guard lock(mutex_);
    return is_cancelled_;
  }
  // Fills `message` and returns true; or says how the call ends; or neither: nothing to say for now.
  virtual bool Next(Message* message, std::optional<grpc::Status>* end) = 0;
  // What can be done while the client has not taken the last message; under the lock, too.
  virtual void Meanwhile() {}
  virtual void Cancelled() {}
  virtual bool GiveUp() { return false; }
  virtual void Detach() {}

 private:
  void PumpLocked() {
    if (is_writing_ && !is_finished_) {
      Meanwhile();
    }
    if (is_writing_ || is_finished_ || !is_open_) {
      return;
    }
    if (is_cancelled_) {
      FinishLocked(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away, or its time was over"));
      return;
    }
    if (failure_.has_value()) {
      FinishLocked(*failure_);
      return;
    }
    message_ = {};  // Clear() would keep its memory
    std::optional<grpc::Status> end;
    if (Next(&message_, &end)) {
      Write();
    } else if (end.has_value()) {
      FinishLocked(*end);
    }
  }

  void OnWriteDone(bool ok) final {
    {
      const std::lock_guard lock(mutex_);
      is_writing_ = false;
      share_ = {};
      is_cancelled_ = is_cancelled_ || !ok;
    }
    Pump();
  }
  void OnCancel() final {
    bool was_open = false;
    bool has_failed = false;
    {
      const std::lock_guard lock(mutex_);
      is_cancelled_ = true;
      was_open = is_open_;
      has_failed = failure_.has_value();
    }
    if (has_failed) {
      return;  // there is nothing that it is about
    }
    if (was_open) {
      Cancelled();
      Pump();
    } else if (GiveUp()) {
      Open();
    }
  }
  void OnDone() final {
    {
      const std::lock_guard open(mutex_);  // whoever opened it has left it
    }
    Detach();
    delete this;
  }
  void Write() {
    const size_t size = message_.ByteSizeLong();
    auto share = unsent_.Take(user_, size);
    if (!share.has_value()) {
      FinishLocked(ToStatus(NoRoomForAnswer(size)));
      return;
    }
    share_ = std::move(*share);
    is_writing_ = true;
    this->StartWrite(&message_);
  }
  void FinishLocked(const grpc::Status& status) {
    is_finished_ = true;
    this->Finish(status);
  }

  UnsentBytes& unsent_;
  const uint32_t user_;
  UnsentBytes::Share share_;  // of the message that is being written
  std::mutex mutex_;
  Message message_;
  std::optional<grpc::Status> failure_;
  bool is_open_ = false;
  bool is_writing_ = false;
  bool is_finished_ = false;
  bool is_cancelled_ = false;
};

}  // namespace ptrace_prof
