// Errors as values: Error{code, message, remedy, reason, thing} and Result<T>.
//
// Every fallible function of the project returns Result<T> (or Result<void>) and never throws. Codes have the numbers
// of gRPC's status codes, so the RPC edge is a cast. An Error is a sentence for a person: `message` names the thing and
// the cause, and `remedy` says what to do about it (may be empty). `reason` is the cause in one word for programs; code
// that knows the cause makes the error with Because(). `thing` identifies what the error is about, also for programs.
// kGone (the target ended, or replaced itself by exec) is an expected outcome, not a failure of the profiler.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "attach/base/reason.h"
#include "attach/base/types.h"

namespace ptrace_prof {

enum class Code : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kGone = 10,  // gRPC ABORTED: the target exited or called exec meanwhile
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// "PERMISSION_DENIED" and so on, as gRPC spells them; "GONE" for kGone.
std::string_view CodeName(Code code);

struct Error {
  Code code = Code::kUnknown;
  std::string message;
  std::string remedy;
  Reason reason = Reason::kUnspecified;
  std::string thing = {};  // "process 4711", "capture nightly-1"; empty: not given
};

// Makes an error with this reason, and the code that belongs to it.
[[nodiscard]] Error Because(Reason reason, std::string message, std::string remedy = {}, std::string thing = {});
// The `thing` of an error about a process.
[[nodiscard]] std::string ThingOf(Pid pid);
// Returns the error's reason, or the default reason of its code. kUnspecified for kOk.
[[nodiscard]] Reason ReasonOf(const Error& error);

// Error with ": <strerror(err)>" appended to the message and a code derived from err (ESRCH → kGone, EPERM/EACCES →
// kPermissionDenied, ENOSPC → kResourceExhausted, else kInternal). The reason is DISK_FULL or OUT_OF_RESOURCES if the
// errno implies it.
[[nodiscard]] Error ErrnoError(int err, std::string_view message, std::string_view remedy = {});

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return state_.index() == 0; }
  bool has_error() const { return state_.index() == 1; }
  explicit operator bool() const = delete;  // callers must choose one of the two functions above

  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T value() && { return std::move(*std::get_if<0>(&state_)); }  // by value: `for (x : F().value())` does not dangle
  Error& error() & { return *std::get_if<1>(&state_); }
  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error error() && { return std::move(*std::get_if<1>(&state_)); }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool has_value() const { return !error_.has_value(); }
  bool has_error() const { return error_.has_value(); }
  explicit operator bool() const = delete;

  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error error() && { return std::move(*error_); }

 private:
  std::optional<Error> error_;
};

}  // namespace ptrace_prof

// PP_RETURN_IF_ERROR(expr): returns the error of a Result<void> expression from the enclosing function.
#define PP_RETURN_IF_ERROR(expr)                          \
  do {                                                    \
    if (auto pp_status = (expr); pp_status.has_error()) { \
      return std::move(pp_status).error();                \
    }                                                     \
  } while (false)

#define PP_CONCAT_INNER(a, b) a##b
#define PP_CONCAT(a, b) PP_CONCAT_INNER(a, b)

// PP_ASSIGN_OR_RETURN(auto x, expr): declares x from the value of a Result<T>, or returns its error.
#define PP_ASSIGN_OR_RETURN(declaration, expr) \
  PP_ASSIGN_OR_RETURN_IMPL(PP_CONCAT(pp_result_, __LINE__), declaration, expr)
#define PP_ASSIGN_OR_RETURN_IMPL(result, declaration, expr) \
  auto result = (expr);                                     \
  if (result.has_error()) {                                 \
    return std::move(result).error();                       \
  }                                                         \
  declaration = std::move(result).value()
