// Errors on their way through gRPC and back.

#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "rpc/status.h"

namespace ptrace_prof {
namespace {

TEST(Status, NothingIsLostOnTheWay) {
  for (int code = 1; code <= 16; ++code) {
    const Error error{static_cast<Code>(code), "process 7 (py\xc3\xa9thon) cannot be read", "do this, then that"};
    const grpc::Status status = ToStatus(error);
    EXPECT_EQ(static_cast<int>(status.error_code()), code);
    EXPECT_EQ(status.error_message(), error.message);
    const Error back = FromStatus(status);
    EXPECT_EQ(back.code, error.code);
    EXPECT_EQ(back.message, error.message);
    EXPECT_EQ(back.remedy, error.remedy);
    EXPECT_FALSE(ReasonOf(status).empty()) << code;
  }
}

TEST(Status, AReasonThatIsGivenWins) {
  const Error error{Code::kNotFound, "there is no capture", ""};
  EXPECT_EQ(ReasonOf(ToStatus(error)), "PROCESS_NOT_FOUND");
  EXPECT_EQ(ReasonOf(ToStatus(error, "CAPTURE_NOT_FOUND")), "CAPTURE_NOT_FOUND");
}

TEST(Status, WithoutARemedyThereIsNone) {
  const Error error{Code::kInternal, "it broke", ""};
  EXPECT_EQ(FromStatus(ToStatus(error)).remedy, "");
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
  EXPECT_EQ(arrived.message, "process 7 (\uFFFD\uFFFD\uFFFD\uFFFD) is not Python");
  EXPECT_EQ(arrived.remedy, "look at \uFFFD(\uFFFD[2J");
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(sent.error_details())) << "proto3 takes no strings that are none";
}

}  // namespace
}  // namespace ptrace_prof
