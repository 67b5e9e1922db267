#include "rpc/munge/munge_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "attach/base/started_thread.h"

namespace ptrace_prof {
namespace {

constexpr std::chrono::seconds kWaitForLastWords(1);

std::chrono::nanoseconds Lasting(Nanos time) { return std::chrono::nanoseconds(time.value); }

Error Late(const std::string& socket) {
  return {Code::kUnavailable,
          fmt::format("munged does not answer at {}: it accepts connections but sends nothing", socket),
          "check its log, and restart it on this machine (systemctl restart munge)"};
}

}  // namespace

struct MungeWorker::Question {
  const std::string credential;
  const std::string socket;
  std::optional<Result<MungeWord>> answer;
};

struct MungeWorker::State {
  explicit State(MungedCalls calls) : munged(std::move(calls)) {}

  const MungedCalls munged;
  std::mutex mutex;  // guards all members below
  std::condition_variable asked;
  std::condition_variable answered;
  std::deque<std::shared_ptr<Question>> waiting;
  std::shared_ptr<Question> in_work;
  Nanos since;            // when that question was begun
  bool is_stuck = false;  // all callers have given up on the question in work
  bool ends = false;
  bool has_ended = false;  // the thread has ended
  std::optional<Error> trouble;
  Nanos trouble_until;
};

MungeWorker::MungeWorker(MungedCalls munged, MungePatience patience)
    : patience_(patience), state_(std::make_shared<State>(std::move(munged))) {}

MungeWorker::~MungeWorker() {
  if (!thread_.joinable()) {
    return;
  }
  std::unique_lock lock(state_->mutex);
  state_->ends = true;
  state_->asked.notify_all();
  const bool has_ended = state_->answered.wait_for(lock, kWaitForLastWords, [this] { return state_->has_ended; });
  lock.unlock();
  if (has_ended) {
    thread_.join();
  } else {
    thread_.detach();  // the thread shares the state, and ends with its question or with the process
  }
}

void MungeWorker::Run(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->asked.wait(lock, [&] { return state->ends || !state->waiting.empty(); });
    if (state->ends) {
      break;
    }
    const auto question = state->waiting.front();
    state->waiting.pop_front();
    state->in_work = question;
    state->since = MonotonicNow();
    lock.unlock();
    auto answer = state->munged.read(question->credential, question->socket);
    lock.lock();
    question->answer = std::move(answer);
    state->in_work.reset();
    state->is_stuck = false;
    state->answered.notify_all();
  }
  state->has_ended = true;
  state->answered.notify_all();
}

// Call with the mutex held.
Result<MungeWord> MungeWorker::GiveUp(const std::shared_ptr<Question>& question, const Error& why) {
  std::erase(state_->waiting, question);
  state_->is_stuck = state_->is_stuck || state_->in_work == question;
  state_->trouble = why;
  state_->trouble_until = MonotonicNow() + patience_.after_trouble;
  return why;
}

Result<MungeWord> MungeWorker::Read(const std::string& credential, const std::string& socket) {
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  if (state.trouble.has_value() && (state.is_stuck || MonotonicNow() < state.trouble_until)) {
    return *state.trouble;
  }
  if (state.in_work != nullptr && MonotonicNow() - state.since > patience_.before_knocking) {
    return Late(socket);
  }
  if (!thread_.joinable()) {
    PP_ASSIGN_OR_RETURN(thread_, StartThread([state = state_] { Run(state); }));
  }
  const auto question = std::make_shared<Question>(Question{credential, socket, std::nullopt});
  const auto is_answered = [&] { return question->answer.has_value(); };
  state.waiting.push_back(question);
  state.asked.notify_one();
  if (!state.answered.wait_for(lock, Lasting(patience_.before_knocking), is_answered)) {
    if (state.in_work != nullptr && state.in_work != question) {  // only one caller waits longer, for all
      std::erase(state.waiting, question);
      return Late(socket);
    }
    lock.unlock();
    const auto there = state.munged.knock(socket);
    lock.lock();
    if (there.has_error() && !is_answered()) {
      return GiveUp(question, there.error());
    }
    if (!state.answered.wait_for(lock, Lasting(patience_.after_knocking), is_answered)) {
      return GiveUp(question, Late(socket));
    }
  }
  if (question->answer->has_error() && question->answer->error().code == Code::kUnavailable) {
    return GiveUp(question, question->answer->error());
  }
  state.trouble.reset();
  return *question->answer;
}

}  // namespace ptrace_prof
