// A small client of ptrace-profd for the tests: daemon_probe ADDRESS VERB [arguments], one line on stdout per result.
//
// PID is a number; wait:NUMBER for a process that is to become a Python process; trace:NUMBER to trace its calls.
//
//   node | list | create PID SECONDS | record PID SECONDS FILE | watch NAME | cancel NAME | delete NAME | read NAME
//   FILE | follow NAME FILE (to the capture's end, then `last`) | sip NAME FILE (small chunks; after the first it
//   prints `first` and stops itself with SIGSTOP; at the end `last`) | twice (list, `first`, SIGSTOP, and list again on
//   the same connection) | stream PID (live samples) | raw METHOD HEX | ask PID... (may each of these be profiled:
//   `allowed PID` or `refused PID CODE REASON`)
//
// PTRACE_PROF_TLS_CA and so on are as for ptrace-prof; PP_PROBE_AUTHORIZATION is the metadata of that name. Exit status
// 0; 1 with "error CODE message" on stdout where the server refused, or could not be reached.

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "attach/base/result.h"
#include "ptraceprof/v1/capture_service.grpc.pb.h"
#include "ptraceprof/v1/node_service.grpc.pb.h"
#include "rpc/channel.h"
#include "rpc/connection/status.h"

namespace ptrace_prof {
namespace {

namespace api = ptraceprof::v1;
using Words = std::vector<std::string>;

void Say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

void SayCapture(const api::Capture& capture) {
  Say(fmt::format("capture {} {} {} {}", capture.name(), api::State_Name(capture.state()), capture.trace_bytes(),
                  capture.error().message()));
}

class Probe {
 public:
  explicit Probe(const std::shared_ptr<grpc::Channel>& channel)
      : channel_(channel), captures_(api::CaptureService::NewStub(channel)), node_(api::NodeService::NewStub(channel)) {
    if (const char* shown = std::getenv("PP_PROBE_AUTHORIZATION"); shown != nullptr) {
      context_.AddMetadata("authorization", shown);
    }
  }

  grpc::Status Node(const Words&) {
    api::Node node;
    grpc::Status status = node_->GetNode(&context_, {}, &node);
    Say(fmt::format("node {} {}", node.name(), node.version()));
    return status;
  }

  grpc::Status List(const Words&) {
    api::ListCapturesResponse response;
    grpc::Status status = captures_->ListCaptures(&context_, {}, &response);
    for (const api::Capture& capture : response.captures()) {
      SayCapture(capture);
    }
    return status;
  }

  grpc::Status Create(const Words& words) {
    api::CreateCaptureRequest request;
    FillSpec(words, request.mutable_spec());
    api::Capture capture;
    grpc::Status status = captures_->CreateCapture(&context_, request, &capture);
    SayCapture(capture);
    return status;
  }

  grpc::Status Record(const Words& words) {
    api::RecordRequest request;
    FillSpec(words, request.mutable_spec());
    std::ofstream file(words.at(2), std::ios::binary);
    const auto stream = captures_->Record(&context_, request);
    for (api::RecordEvent event; stream->Read(&event);) {
      if (event.has_capture()) {
        SayCapture(event.capture());
      } else {
        file << event.chunk().data() << std::flush;
      }
    }
    return stream->Finish();
  }

  grpc::Status Watch(const Words& words) {
    api::WatchCaptureRequest request;
    request.set_name(words.at(0));
    const auto stream = captures_->WatchCapture(&context_, request);
    for (api::CaptureEvent event; stream->Read(&event);) {
      SayCapture(event.capture());
    }
    return stream->Finish();
  }

  grpc::Status Cancel(const Words& words) {
    api::CancelCaptureRequest request;
    request.set_name(words.at(0));
    api::Capture capture;
    grpc::Status status = captures_->CancelCapture(&context_, request, &capture);
    SayCapture(capture);
    return status;
  }

  grpc::Status Delete(const Words& words) {
    api::DeleteCaptureRequest request;
    request.set_name(words.at(0));
    google::protobuf::Empty nothing;
    return captures_->DeleteCapture(&context_, request, &nothing);
  }

  grpc::Status Read(const Words& words) {
    api::ReadTraceRequest request;
    request.set_name(words.at(0));
    std::ofstream file(words.at(1), std::ios::binary);
    const auto stream = captures_->ReadTrace(&context_, request);
    for (api::TraceChunk chunk; stream->Read(&chunk);) {
      file << chunk.data();
    }
    return stream->Finish();
  }

  grpc::Status Follow(const Words& words) {
    api::ReadTraceRequest request;
    request.set_name(words.at(0));
    request.set_follow(true);
    std::ofstream file(words.at(1), std::ios::binary);
    const auto stream = captures_->ReadTrace(&context_, request);
    for (api::TraceChunk chunk; stream->Read(&chunk);) {
      file << chunk.data() << std::flush;
      if (chunk.last()) {
        Say("last");
      }
    }
    return stream->Finish();
  }

  grpc::Status Sip(const Words& words) {
    api::ReadTraceRequest request;
    request.set_name(words.at(0));
    request.set_max_chunk_bytes(4096);
    std::ofstream file(words.at(1), std::ios::binary);
    const auto stream = captures_->ReadTrace(&context_, request);
    bool is_first = true;
    for (api::TraceChunk chunk; stream->Read(&chunk);) {
      file << chunk.data() << std::flush;
      if (is_first) {
        Say("first");
        std::raise(SIGSTOP);  // until the test that started us sends SIGCONT
        is_first = false;
      }
      if (chunk.last()) {
        Say("last");
      }
    }
    return stream->Finish();
  }

  grpc::Status Twice(const Words& words) {
    if (grpc::Status status = List(words); !status.ok()) {
      return status;
    }
    Say("first");
    std::raise(SIGSTOP);
    grpc::ClientContext again;
    api::ListCapturesResponse response;
    return captures_->ListCaptures(&again, {}, &response);
  }

  grpc::Status Stream(const Words& words) {
    api::StreamSamplesRequest request;
    FillSpec({words.at(0), "1"}, request.mutable_spec());
    request.mutable_spec()->clear_duration();
    request.mutable_interval()->set_nanos(50'000'000);
    const auto stream = captures_->StreamSamples(&context_, request);
    for (api::SampleBatch batch; stream->Read(&batch);) {
      Say(batch.has_ended() ? fmt::format("ended {} {}", batch.ended().code(), batch.ended().message())
                            : fmt::format("batch {}", batch.counters().samples()));
    }
    return stream->Finish();
  }

  grpc::Status Ask(const Words& words) {
    for (const std::string& pid : words) {
      api::CreateCaptureRequest request;
      request.set_validate_only(true);
      FillSpec({pid, "1"}, request.mutable_spec());
      grpc::ClientContext context;
      context.AddMetadata("ptp-uid", "0");  // the server must ignore what a client claims
      context.AddMetadata("authorization", "root");
      api::Capture capture;
      const grpc::Status status = captures_->CreateCapture(&context, request, &capture);
      Say(status.ok() ? fmt::format("allowed {}", pid)
                      : fmt::format("refused {} {} {}", pid, CodeName(static_cast<Code>(status.error_code())),
                                    ReasonOf(status)));
    }
    return grpc::Status::OK;
  }

  // A request of exactly these bytes.
  grpc::Status Raw(const Words& words) {
    std::string bytes;
    for (size_t i = 0; i + 1 < words.at(1).size(); i += 2) {
      bytes += static_cast<char>(std::stoi(words.at(1).substr(i, 2), nullptr, 16));
    }
    grpc::GenericStub stub(channel_);
    const grpc::Slice slice(bytes);
    const grpc::ByteBuffer request(&slice, 1);
    grpc::ByteBuffer response;
    std::promise<grpc::Status> done;
    stub.UnaryCall(&context_, words.at(0), {}, &request, &response,
                   [&](grpc::Status status) { done.set_value(std::move(status)); });
    return done.get_future().get();
  }

 private:
  static void FillSpec(const Words& words, api::CaptureSpec* spec) {
    const std::string& pid = words.at(0);
    spec->mutable_target()->set_pid(std::stoi(pid.substr(pid.find(':') + 1)));
    spec->set_mode(pid.starts_with("trace:") ? api::MODE_TRACE : api::MODE_SAMPLE);
    const double seconds = std::stod(words.at(1));
    spec->mutable_duration()->set_seconds(static_cast<int64_t>(seconds));
    spec->mutable_duration()->set_nanos(static_cast<int32_t>((seconds - static_cast<int64_t>(seconds)) * 1e9));
    if (spec->mode() == api::MODE_SAMPLE) {
      spec->mutable_sample()->set_wait_for_python(pid.starts_with("wait:"));
      spec->mutable_sample()->set_no_overhead_limit(true);
    }
  }

  const std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<api::CaptureService::Stub> captures_;
  std::unique_ptr<api::NodeService::Stub> node_;
  grpc::ClientContext context_;
};

constexpr size_t kAny = 0x1000;

const std::map<std::string, std::pair<size_t, grpc::Status (Probe::*)(const Words&)>> kVerbs = {
    {"node", {0, &Probe::Node}},     {"list", {0, &Probe::List}},     {"create", {2, &Probe::Create}},
    {"record", {3, &Probe::Record}}, {"watch", {1, &Probe::Watch}},   {"cancel", {1, &Probe::Cancel}},
    {"delete", {1, &Probe::Delete}}, {"read", {2, &Probe::Read}},     {"raw", {2, &Probe::Raw}},
    {"ask", {kAny, &Probe::Ask}},    {"follow", {2, &Probe::Follow}}, {"sip", {2, &Probe::Sip}},
    {"stream", {1, &Probe::Stream}}, {"twice", {0, &Probe::Twice}},
};

ChannelOptions OptionsFromEnvironment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  return {.tls = {.authority = variable("PTRACE_PROF_TLS_CA"),
                  .certificate = variable("PTRACE_PROF_TLS_CERT"),
                  .key = variable("PTRACE_PROF_TLS_KEY")},
          .server_name = {},
          .user = variable("PTRACE_PROF_AS")};
}

int Main(const Words& words) {
  const auto verb = words.size() < 2 ? kVerbs.end() : kVerbs.find(words[1]);
  if (verb == kVerbs.end() || (verb->second.first != kAny && words.size() != 2 + verb->second.first)) {
    return 2;
  }
  const auto channel = ConnectChannel(words[0], OptionsFromEnvironment());
  if (channel.has_error()) {
    Say(fmt::format("error {} {}", CodeName(channel.error().code), channel.error().message));
    return 1;
  }
  Probe probe(channel.value());
  const grpc::Status status = (probe.*verb->second.second)(Words(words.begin() + 2, words.end()));
  if (!status.ok()) {
    Say(fmt::format("error {} {} [{}]", CodeName(static_cast<Code>(status.error_code())), status.error_message(),
                    FromStatus(status).remedy));
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace ptrace_prof

int main(int argc, char** argv) { return ptrace_prof::Main({argv + 1, argv + argc}); }
