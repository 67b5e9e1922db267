#include "daemon/server/program/daemon_log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "attach/base/clean_text.h"

namespace ptrace_prof {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarning: return spdlog::level::warn;
    case LogLevel::kError: break;
  }
  return spdlog::level::err;
}

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_./:+,@%").find(c) != std::string_view::npos;
}

}  // namespace

std::string QuoteValue(std::string_view value) {
  if (!value.empty() && std::all_of(value.begin(), value.end(), IsPlain)) {
    return std::string(value);
  }
  std::string quoted = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return CleanText(quoted) + '"';  // libraries quote text from the network
}

void StartLog() {
  auto logger = spdlog::stderr_logger_mt("ptrace-profd");
  logger->set_pattern("time=%Y-%m-%dT%H:%M:%S.%e%z level=%l %v");
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void Log(LogLevel level, std::string_view event, LogFields fields) {
  std::string line = fmt::format("event={}", event);
  for (const auto& [key, value] : fields) {
    fmt::format_to(std::back_inserter(line), " {}={}", key, QuoteValue(value));
  }
  spdlog::log(SpdlogLevel(level), "{}", line);
}

void Log(LogLevel level, std::string_view event, const Error& error) {
  if (error.remedy.empty()) {
    Log(level, event, {{"code", std::string(CodeName(error.code))}, {"message", error.message}});
  } else {
    Log(level, event,
        {{"code", std::string(CodeName(error.code))}, {"message", error.message}, {"remedy", error.remedy}});
  }
}

}  // namespace ptrace_prof
