#include "daemon/server/service/capture_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "daemon/server/service/answer_at_end.h"
#include "daemon/server/service/capture_calls.h"
#include "daemon/server/service/capture_message.h"
#include "daemon/server/service/dump_answer.h"
#include "daemon/server/service/failed_call.h"
#include "daemon/server/service/listing.h"
#include "daemon/server/service/page_size.h"
#include "daemon/server/service/samples_call.h"
#include "daemon/server/service/trace_cursor.h"
#include "daemon/server/service/user_of.h"
#include "rpc/connection/status.h"
#include "rpc/messages/task_from_message.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMaxRequestId = 128;

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context, const Result<void>& outcome) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(outcome.has_error() ? ToStatus(outcome.error()) : grpc::Status::OK);
  return reactor;
}

// The page token is the ID of the last capture of the previous page.
Result<void> FillPage(const std::vector<std::shared_ptr<CaptureSession>>& sessions,
                      const v1::ListCapturesRequest& request, v1::ListCapturesResponse* out) {
  PP_RETURN_IF_ERROR(RefuseUnknownFields(request));
  PP_ASSIGN_OR_RETURN(const int size, PageSizeFrom(request.page_size()));
  auto at = sessions.begin();
  if (!request.page_token().empty()) {
    at = std::find_if(sessions.begin(), sessions.end(),
                      [&](const auto& session) { return session->parameters().id == request.page_token(); });
    if (at == sessions.end()) {
      return Error{Code::kInvalidArgument, "page_token is unknown or has expired", "begin again without one"};
    }
    ++at;
  }
  for (; at != sessions.end() && out->captures_size() < size; ++at) {
    FillCapture(**at, out->add_captures());
  }
  if (at != sessions.end()) {
    out->set_next_page_token((*std::prev(at))->parameters().id);
  }
  return {};
}

}  // namespace

template <typename Request>
Result<std::shared_ptr<CaptureSession>> CaptureServiceImpl::FindNamedIn(const Request& request, std::string_view what) {
  PP_RETURN_IF_ERROR(RefuseUnknownFields(request));
  PP_ASSIGN_OR_RETURN(const std::string id, CaptureIdOf(request.name()));
  auto found = captures_.Find(id, UserOf(caller_));
  if (const auto anothers = found.has_error() ? captures_.FindAnothers(id, UserOf(caller_)) : nullptr) {
    access_.audit.Kept(what, anothers->parameters(), found.error());
  }
  return found;
}

Result<CaptureRegistry::Creation> CaptureServiceImpl::CreationFrom(const v1::CaptureSpec& spec,
                                                                   const std::string& request_id) {
  if (request_id.size() > kMaxRequestId) {
    return Error{Code::kInvalidArgument, fmt::format("request_id is longer than {} characters", kMaxRequestId), ""};
  }
  PP_ASSIGN_OR_RETURN(CaptureTask request, TaskFrom(spec));
  return CaptureRegistry::Creation{
      .id = {}, .request_id = request_id, .owner = UserOf(caller_), .request = std::move(request)};
}

// The audit records what an administrator does with captures of other users.
void CaptureServiceImpl::ReportIfAnothers(std::string_view what, const CaptureSession& session) {
  if (session.parameters().owner != UserOf(caller_)) {
    access_.audit.Touched(what, session.parameters());
  }
}

HeldAnswer CaptureServiceImpl::Held(google::protobuf::MessageLite& message) {
  return {resources_.unsent, resources_.pool, caller_.uid, message};
}

Reader CaptureServiceImpl::ReaderOf(uint32_t chunk_size) {
  return {caller_.uid, resources_.unsent, resources_.pool, chunk_size};
}

// Starts a capture that is not in the registry's list; it lives as long as the call that waits for it.
StartOfCapture CaptureServiceImpl::HiddenStart(const CaptureTask& request) {
  return [this, request] { return captures_.StartHidden(request, UserOf(caller_), access_); };
}

grpc::ServerUnaryReactor* CaptureServiceImpl::ListProcesses(grpc::CallbackServerContext* context,
                                                            const v1::ListProcessesRequest* request,
                                                            v1::ListProcessesResponse* response) {
  if (auto known = RefuseUnknownFields(*request); known.has_error()) {
    return Answer(context, known);
  }
  const auto page = PageFrom(*request);
  if (page.has_error()) {
    return Answer(context, page.error());
  }
  const ListingKeeper keeper{resources_.listings, Uid(caller_.uid), access_.allowance};
  if (!page.value().listing.empty()) {
    return AnswerNow(Held(*response), AnswerLaterPage(*request, page.value(), keeper, response));
  }
  CaptureTask list;
  list.set_verb(CaptureTask::LIST);
  return AnswerAtEnd(HiddenStart(list), Held(*response),
                     [page = page.value(), keeper, request, response](const CaptureSession& ended) {
                       const auto answered = AnswerFirstPage(ended, *request, page, keeper, response);
                       return answered.has_error() ? ToStatus(answered.error()) : grpc::Status::OK;
                     });
}

grpc::ServerUnaryReactor* CaptureServiceImpl::DumpStacks(grpc::CallbackServerContext* context,
                                                         const v1::DumpStacksRequest* request,
                                                         v1::DumpStacksResponse* response) {
  if (auto known = RefuseUnknownFields(*request); known.has_error()) {
    return Answer(context, known);
  }
  const auto wanted = TaskFrom(*request);
  if (wanted.has_error()) {
    return Answer(context, wanted.error());
  }
  return AnswerAtEnd(HiddenStart(wanted.value()), Held(*response), [this, response](const CaptureSession& ended) {
    const std::lock_guard one_at_a_time(resources_.unsent.making());
    return FillDump(ended, response);
  });
}

grpc::ServerUnaryReactor* CaptureServiceImpl::CreateCapture(grpc::CallbackServerContext* context,
                                                            const v1::CreateCaptureRequest* request,
                                                            v1::Capture* response) {
  if (auto known = RefuseUnknownFields(*request); known.has_error()) {
    return Answer(context, known);
  }
  auto creation = CreationFrom(request->spec(), request->request_id());
  if (creation.has_error()) {
    return Answer(context, creation.error());
  }
  creation.value().id = request->capture_id();
  if (request->validate_only()) {
    if (auto possible = captures_.Check(creation.value(), access_); possible.has_error()) {
      return Answer(context, possible);
    }
    CaptureTask look = creation.value().request;
    look.set_verb(CaptureTask::DUMP);
    look.mutable_spec()->set_mode(v1::MODE_SAMPLE);  // as for a dump
    look.mutable_spec()->clear_trace();
    look.mutable_spec()->clear_gpu();
    look.mutable_spec()->clear_torch();
    look.mutable_spec()->clear_record_shapes();
    look.mutable_spec()->clear_profile_memory();
    look.mutable_spec()->clear_execution_trace();
    look.mutable_spec()->clear_force();
    look.mutable_spec()->mutable_sample()->set_no_subprocesses(true);
    *response->mutable_spec() = request->spec();
    return AnswerAtEnd(HiddenStart(look), Held(*response), [](const CaptureSession& ended) {
      const auto error = ended.Snapshot().error;
      return error.has_value() ? ToStatus(*error) : grpc::Status::OK;
    });
  }
  return AnswerAtStart([this, wanted = creation.value()] { return captures_.Create(wanted, access_); }, Held(*response),
                       [response](const CaptureSession& started) {
                         FillCapture(started, response);
                         return grpc::Status::OK;
                       });
}

grpc::ServerUnaryReactor* CaptureServiceImpl::GetCapture(grpc::CallbackServerContext* context,
                                                         const v1::GetCaptureRequest* request, v1::Capture* response) {
  const auto session = FindNamedIn(*request, "read");
  if (session.has_error()) {
    return Answer(context, session.error());
  }
  FillCapture(*session.value(), response);
  return Answer(context, {});
}

grpc::ServerUnaryReactor* CaptureServiceImpl::ListCaptures(grpc::CallbackServerContext* /*context*/,
                                                           const v1::ListCapturesRequest* request,
                                                           v1::ListCapturesResponse* response) {
  return AnswerNow(Held(*response), FillPage(captures_.List(UserOf(caller_)), *request, response));
}

grpc::ServerUnaryReactor* CaptureServiceImpl::CancelCapture(grpc::CallbackServerContext* context,
                                                            const v1::CancelCaptureRequest* request,
                                                            v1::Capture* response) {
  const auto session = FindNamedIn(*request, "cancel");
  if (session.has_error()) {
    return Answer(context, session.error());
  }
  session.value()->Cancel();
  ReportIfAnothers("cancel", *session.value());
  FillCapture(*session.value(), response);
  return Answer(context, {});
}

grpc::ServerUnaryReactor* CaptureServiceImpl::DeleteCapture(grpc::CallbackServerContext* context,
                                                            const v1::DeleteCaptureRequest* request,
                                                            google::protobuf::Empty* /*response*/) {
  const auto session = FindNamedIn(*request, "delete");
  if (session.has_error()) {
    return Answer(context, session.error());
  }
  const std::string& id = session.value()->parameters().id;
  Result<void> deleted;
  if (request->force()) {
    captures_.Discard(id);
  } else {
    deleted = captures_.Delete(id, UserOf(caller_));
  }
  if (deleted.has_value()) {
    ReportIfAnothers("delete", *session.value());
  }
  return Answer(context, deleted);
}

WatchWriter* CaptureServiceImpl::WatchCapture(grpc::CallbackServerContext* /*context*/,
                                              const v1::WatchCaptureRequest* request) {
  auto session = FindNamedIn(*request, "read");
  if (session.has_error()) {
    return FailedCall<v1::CaptureEvent>(ToStatus(session.error()));
  }
  return StartWatch(std::move(session).value(), ReaderOf());
}

TraceChunkWriter* CaptureServiceImpl::ReadTrace(grpc::CallbackServerContext* /*context*/,
                                                const v1::ReadTraceRequest* request) {
  auto session = FindNamedIn(*request, "read");
  if (session.has_error()) {
    return FailedCall<v1::TraceChunk>(ToStatus(session.error()));
  }
  const auto size = ChunkSizeFrom(request->max_chunk_bytes());
  if (size.has_error()) {
    return FailedCall<v1::TraceChunk>(ToStatus(size.error()));
  }
  const auto get = [this, session = session.value(), file = session.value()->spool().Hold(),
                    offset = request->offset()]() -> Result<std::shared_ptr<CaptureSession>> {
    PP_ASSIGN_OR_RETURN(const bool is_checked, session->spool().CheckOffset(offset));
    if (!is_checked) {
      return std::shared_ptr<CaptureSession>();
    }
    ReportIfAnothers("read", *session);
    return session;
  };
  return StartReadTrace(get, *request, ReaderOf(size.value()));
}

RecordWriter* CaptureServiceImpl::Record(grpc::CallbackServerContext* /*context*/, const v1::RecordRequest* request) {
  if (auto known = RefuseUnknownFields(*request); known.has_error()) {
    return FailedCall<v1::RecordEvent>(ToStatus(known.error()));
  }
  const auto size = ChunkSizeFrom(request->max_chunk_bytes());
  if (size.has_error()) {
    return FailedCall<v1::RecordEvent>(ToStatus(size.error()));
  }
  const auto creation = CreationFrom(request->spec(), request->request_id());
  if (creation.has_error()) {
    return FailedCall<v1::RecordEvent>(ToStatus(creation.error()));
  }
  return StartRecord([this, wanted = creation.value()] { return captures_.Create(wanted, access_); }, captures_,
                     ReaderOf(size.value()));
}

SamplesWriter* CaptureServiceImpl::StreamSamples(grpc::CallbackServerContext* /*context*/,
                                                 const v1::StreamSamplesRequest* request) {
  if (auto known = RefuseUnknownFields(*request); known.has_error()) {
    return FailedCall<v1::SampleBatch>(ToStatus(known.error()));
  }
  const auto interval = IntervalFrom(*request);
  if (interval.has_error()) {
    return FailedCall<v1::SampleBatch>(ToStatus(interval.error()));
  }
  const auto wanted = TaskFrom(request->spec());
  if (wanted.has_error()) {
    return FailedCall<v1::SampleBatch>(ToStatus(wanted.error()));
  }
  if (MayTrace(wanted.value().spec().mode())) {
    return FailedCall<v1::SampleBatch>(
        ToStatus(Error{Code::kInvalidArgument, "live samples need MODE_SAMPLE", "use Record"}));
  }
  if (request->spec().keep() || request->spec().max_bytes() != 0) {
    return FailedCall<v1::SampleBatch>(
        ToStatus(Error{Code::kInvalidArgument, "keep and max_bytes apply to a trace, and live samples write none",
                       "leave them out, or use Record"}));
  }
  return StartSamples(HiddenStart(wanted.value()), interval.value(), ReaderOf());
}

}  // namespace ptrace_prof
