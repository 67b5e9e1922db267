// Errors on their way through gRPC and back.

#include "rpc/connection/status.h"

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace ptrace_prof {
namespace {

TEST(Status, NothingIsLostOnTheWay) {
  for (const ReasonRow& row : Reasons()) {
    const Error error =
        Because(row.reason, "process 7 (py\xc3\xa9thon) cannot be read", "do this, then that", "process 7");
    const grpc::Status status = ToStatus(error);
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(row.code));
    EXPECT_EQ(status.error_message(), error.message);
    EXPECT_EQ(ReasonOf(status), row.name);
    const Error back = FromStatus(status);
    EXPECT_EQ(back.code, error.code);
    EXPECT_EQ(back.message, error.message);
    EXPECT_EQ(back.remedy, error.remedy);
    EXPECT_EQ(back.reason, error.reason);
    EXPECT_EQ(back.thing, error.thing);
  }
}

TEST(Status, WithoutAReasonThatOfTheCodeIsGiven) {
  for (int code = 1; code <= 16; ++code) {
    const Error error{static_cast<Code>(code), "it is so", ""};
    EXPECT_EQ(ReasonOf(ToStatus(error)), ReasonName(UsualReason(error.code))) << code;
    EXPECT_NE(ReasonOf(ToStatus(error)), "") << code;
  }
  EXPECT_EQ(ReasonOf(ToStatus({Code::kFailedPrecondition, "it is so", ""})), "FAILED_PRECONDITION");
}

TEST(Status, AQuotaSaysWhenToTryAgain) {
  google::rpc::Status details;
  ASSERT_TRUE(details.ParseFromString(ToStatus(Because(Reason::kQuota, "too many")).error_details()));
  google::rpc::RetryInfo retry;
  ASSERT_EQ(details.details_size(), 2);
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_GT(retry.retry_delay().seconds(), 0);
}

TEST(Status, AReasonOfALaterVersionIsThatOfItsCode) {
  google::rpc::Status status;
  status.set_code(9);
  google::rpc::ErrorInfo info;
  info.set_domain(kErrorDomain);
  info.set_reason("NEWER_THAN_US");
  status.add_details()->PackFrom(info);
  const Error error = FromStatus(status);
  EXPECT_EQ(error.reason, Reason::kUnspecified);
  EXPECT_EQ(ReasonOf(error), Reason::kFailedPrecondition);
}

TEST(Status, WithoutARemedyThereIsNone) {
  const Error error{Code::kInternal, "it broke", ""};
  EXPECT_EQ(FromStatus(ToStatus(error)).remedy, "");
  EXPECT_EQ(FromStatus(ToStatus(error)).thing, "");
}

TEST(Status, OthersStatusesAreReadAsFarAsTheyGo) {
  const Error plain = FromStatus(grpc::Status(grpc::StatusCode::UNAVAILABLE, "connection refused"));
  EXPECT_EQ(plain.code, Code::kUnavailable);
  EXPECT_EQ(plain.message, "connection refused");
  const grpc::Status damaged(grpc::StatusCode::INTERNAL, "x", std::string("\xff\xfe\x00\x01", 4));
  EXPECT_EQ(FromStatus(damaged).code, Code::kInternal);
  EXPECT_EQ(ReasonOf(damaged), "");
  google::rpc::Status foreign;
  google::rpc::ErrorInfo info;
  info.set_domain("example.com");
  info.set_reason("THEIRS");
  foreign.add_details()->PackFrom(info);
  EXPECT_EQ(ReasonOf(grpc::Status(grpc::StatusCode::INTERNAL, "x", foreign.SerializeAsString())), "");
}

TEST(Status, IsTextWhateverItNames) {
  const Error error{Code::kFailedPrecondition, "process 7 (\xff\xed\xa0\x80) is not Python", "look at \xc3(\x1b[2J"};
  const grpc::Status sent = ToStatus(error);
  const Error arrived = FromStatus(sent);
  EXPECT_EQ(arrived.message, "process 7 (\\xff\\xed\\xa0\\x80) is not Python");
  EXPECT_EQ(arrived.remedy, "look at \\xc3(\\x1b[2J");
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(sent.error_details())) << "proto3 takes no strings that are none";
}

}  // namespace
}  // namespace ptrace_prof
