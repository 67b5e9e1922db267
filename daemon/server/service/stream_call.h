// One server-streaming call: keeps one write outstanding, and ends when the derived class says so or the call is
// cancelled.
//
//   made ──Open──► pumped ──► finished        cancelled before Open: GiveUp() says whether Open will never come
//
// Pump() may be called from any thread: by a listener of the call's subject, and by gRPC when a write is done. The
// derived class supplies the next message; it is called under the call's lock and must not block. The object deletes
// itself after gRPC's OnDone and Detach(), which must make sure that Pump is not called any more. A message that the
// client has not read counts against its user; above the limit the call ends with QUOTA.
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
  // Call once: the subject exists, or `failure` ends the call. The object may be deleted afterwards.
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
  // Fills `message` and returns true; or sets `end` to end the call; or does neither if there is nothing to send now.
  virtual bool Next(Message* message, std::optional<grpc::Status>* end) = 0;
  // Work that is possible while the client has not read the last message; called under the lock.
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
      FinishLocked(grpc::Status(grpc::StatusCode::CANCELLED, "the client disconnected, or its deadline passed"));
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
      return;  // the subject does not exist
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
      const std::lock_guard open(mutex_);  // waits until Open has returned
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
