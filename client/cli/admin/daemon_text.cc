#include "client/cli/admin/daemon_text.h"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include "attach/base/base_name.h"
#include "attach/base/clean_text.h"
#include "client/cli/captures/captures_text.h"
#include "client/cli/export/export_options.h"
#include "client/cli/json_text.h"
#include "client/cli/record/totals_text.h"
#include "client/cli/user_names.h"

namespace ptrace_prof {
namespace {

using Json = rapidjson::PrettyWriter<rapidjson::StringBuffer>;

std::string FactLine(std::string_view what, std::string_view text) {
  return fmt::format("  {:<10} {}\n", what, CleanText(text));
}

std::string User(UserNames& names, Uid uid) {
  const std::string& name = names.Of(uid);
  const std::string number = std::to_string(uid.value);
  return name == number ? "user " + number : fmt::format("{} ({})", name, number);
}

std::string Counts(const RemoteDaemon& daemon) {
  std::string text;
  for (size_t i = 0; i < daemon.captures.size(); ++i) {
    if (daemon.captures[i] > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Grouped(daemon.captures[i]),
                          StateName(static_cast<RemoteState>(i)));
    }
  }
  return fmt::format("{} ({})", text.empty() ? "none" : text, daemon.of_everybody ? "of all users" : "yours");
}

std::string Limits(const RemoteDaemon& daemon) {
  return fmt::format("{} captures at once, {} per trace, {}", Grouped(daemon.most_captures),
                     HumanSize(daemon.most_bytes),
                     daemon.longest.value == 0 ? "no time limit" : ShortTime(daemon.longest) + " at most");
}

std::string KeepingText(const RemoteDaemon& daemon) {
  const RemoteDaemon::Keeping& keeping = *daemon.keeping;
  return FactLine("users", fmt::format("{} with captures; {} dumps, listings and live views running",
                                       Grouped(keeping.users), Grouped(keeping.brief))) +
         FactLine("spool", fmt::format("{}, {} free", keeping.spool, HumanSize(keeping.spool_free_bytes))) +
         FactLine("audit", keeping.audit.empty() ? "none (ptrace-profd --audit FILE)" : keeping.audit) +
         FactLine("metrics", keeping.metrics.empty() ? "none (ptrace-profd --metrics ADDRESS)" : keeping.metrics);
}

void PutSeconds(Json& json, const char* key, Nanos time) {
  json.Key(key);
  time.value == 0 ? json.Null() : json.Double(time.seconds());
}

void PutCaptures(Json& json, const RemoteDaemon& daemon) {
  json.Key("captures");
  json.StartObject();
  for (size_t i = 0; i < daemon.captures.size(); ++i) {
    if (const auto state = static_cast<RemoteState>(i); state != RemoteState::kArmed) {
      Put(json, std::string(StateName(state)).c_str(), daemon.captures[i]);
    }
  }
  json.EndObject();
  Put(json, "trace_bytes", daemon.trace_bytes);
  Put(json, "of_everybody", daemon.of_everybody);
}

void PutKeeping(Json& json, const RemoteDaemon& daemon) {
  json.Key("keeping");
  if (!daemon.keeping.has_value()) {
    json.Null();
    return;
  }
  json.StartObject();
  Put(json, "spool", daemon.keeping->spool);
  Put(json, "spool_free_bytes", daemon.keeping->spool_free_bytes);
  Put(json, "users", daemon.keeping->users);
  Put(json, "brief", daemon.keeping->brief);
  Put(json, "audit", daemon.keeping->audit);
  Put(json, "metrics", daemon.keeping->metrics);
  json.EndObject();
}

}  // namespace

std::string DaemonText(const RemoteDaemon& daemon) {
  UserNames names;
  const std::string owner = User(names, daemon.owner);
  std::string text =
      fmt::format("ptrace-profd {} on {}\n", CleanText(daemon.version), CleanText(BaseName(daemon.node)));
  text += FactLine("up", fmt::format("{}, as process {}", ShortTime(daemon.now - daemon.started), daemon.pid.value));
  text += FactLine("address", daemon.address);
  text += FactLine("runs as", daemon.user == daemon.owner
                                  ? User(names, daemon.user)
                                  : fmt::format("{}, started by {}", User(names, daemon.user), owner));
  text += FactLine("serves", daemon.multi_user        ? "every user of this machine, each with that user's own rights"
                             : daemon.owner == Uid(0) ? "root"
                                                      : owner + " and root");
  text += FactLine("captures", Counts(daemon));
  text += FactLine("traces", HumanSize(daemon.trace_bytes));
  text += FactLine("each user", Limits(daemon));
  return daemon.keeping.has_value() ? text + KeepingText(daemon) : text;
}

std::string DaemonJson(const RemoteDaemon& daemon) {
  rapidjson::StringBuffer buffer;
  Json json(buffer);
  json.StartObject();
  Put(json, "schema", std::string_view("ptrace-prof.daemon/1"));
  Put(json, "node", daemon.node);
  Put(json, "version", daemon.version);
  Put(json, "pid", static_cast<uint64_t>(daemon.pid.value));
  PutSeconds(json, "started", daemon.started);
  PutSeconds(json, "uptime", daemon.now - daemon.started);
  Put(json, "address", daemon.address);
  Put(json, "user_uid", daemon.user.value);
  Put(json, "owner_uid", daemon.owner.value);
  Put(json, "multi_user", daemon.multi_user);
  PutCaptures(json, daemon);
  Put(json, "most_captures", daemon.most_captures);
  Put(json, "most_bytes", daemon.most_bytes);
  PutSeconds(json, "longest", daemon.longest);
  PutKeeping(json, daemon);
  json.EndObject();
  return std::string(buffer.GetString(), buffer.GetSize()) + "\n";
}

}  // namespace ptrace_prof
