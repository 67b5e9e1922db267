// Parses the policy; the only file that includes the TOML parser. Its interface is policy_file.h.

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <set>
#include <sstream>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_UNRELEASED_FEATURES 0
#include <toml++/toml.h>

#include "attach/base/clean_text.h"
#include "daemon/server/policy/account_names.h"
#include "daemon/server/policy/policy_file.h"
#include "rpc/messages/quantity.h"

namespace ptrace_prof {
namespace {

Result<Nanos> ReadTime(std::string_view text) { return ParseDuration(text); }

// A bare number could be read as ten times or a tenth of what was meant, so the percent sign is required.
Result<double> ReadShare(std::string_view text) {
  return text.ends_with('%') ? ParsePercent(text) : Error{Code::kInvalidArgument, "a share ends with %", ""};
}

constexpr size_t kMostRules = 1024;
constexpr size_t kLongestSocket = 107;  // the kernel's limit
constexpr uint32_t kNobody = 65534;     // shown by the kernel for a user without a number here
constexpr char kPatternRemedy[] = "* stands for any text, ? for one character, [a-z] for one of these";

std::string Text(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  return text.str();
}

using Keys = std::initializer_list<std::string_view>;

// Reads the tables of a policy, and keeps the first error.
class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  Result<Policy> Read(const toml::table& root) {
    Policy policy;
    RefuseOthers(root, "the policy", {"default", "cpu", "yama", "munge_socket", "rule", "quota", "identity"});
    if (const toml::node* node = root.get("default")) {
      policy.allows_by_default = ReadAction(*node, "default");
    }
    if (const toml::node* node = root.get("yama")) {
      policy.waives_yama = ReadYama(*node);
    }
    if (const toml::node* node = root.get("munge_socket")) {
      policy.munge_socket = ReadSocket(*node, "munge_socket");
    }
    policy.cpu_share = ReadAmount<double>(root, "cpu", "\"10%\", a share of all cores", ReadShare);
    ForEachTable(root, "rule", [&](const toml::table& table) { policy.rules.push_back(ReadRule(table)); });
    names_.clear();
    ForEachTable(root, "quota", [&](const toml::table& table) { policy.quotas.push_back(ReadQuota(table)); });
    names_.clear();
    ForEachTable(root, "identity", [&](const toml::table& table) { policy.identities.push_back(ReadIdentity(table)); });
    if (wrong_.has_value()) {
      return *wrong_;
    }
    return policy;
  }

  Error At(uint32_t line, std::string_view what, std::string remedy) const {
    return {Code::kInvalidArgument, fmt::format("{}:{}: {}", file_, line, what), std::move(remedy)};
  }

 private:
  void Wrong(const toml::source_region& where, std::string_view what, std::string remedy) {
    if (!wrong_.has_value() || where.begin.line < line_) {
      line_ = where.begin.line;
      wrong_ = At(line_, what, std::move(remedy));
    }
  }

  void RefuseOthers(const toml::table& table, std::string_view what, Keys known) {
    for (const auto& [key, node] : table) {
      if (std::find(known.begin(), known.end(), key.str()) == known.end()) {
        Wrong(key.source(), fmt::format("{} has no key '{}'", what, CleanText(key.str())),
              fmt::format("there are: {}", fmt::join(known, ", ")));
      }
    }
  }

  template <typename Take>
  void ForEachTable(const toml::table& root, std::string_view key, const Take& take) {
    const toml::node* node = root.get(key);
    if (node == nullptr) {
      return;
    }
    if (!node->is_array_of_tables() || node->as_array()->size() > kMostRules) {
      Wrong(node->source(), fmt::format("{} is not a list of at most {} tables", key, kMostRules),
            fmt::format("begin each with a line [[{}]]", key));
      return;
    }
    for (const toml::node& element : *node->as_array()) {
      take(*element.as_table());
    }
  }

  bool ReadAction(const toml::node& node, std::string_view key) {
    const auto word = node.value_exact<std::string_view>();
    if (word != "allow" && word != "deny") {
      Wrong(node.source(), fmt::format("{} is neither \"allow\" nor \"deny\"", key),
            fmt::format("write {} = \"deny\", for example", key));
    }
    return word == "allow";
  }

  bool ReadYama(const toml::node& node) {
    const auto word = node.value_exact<std::string_view>();
    if (word != "obey" && word != "waive") {
      Wrong(node.source(), "yama is neither \"obey\" nor \"waive\"", "write yama = \"waive\", or leave it out");
    }
    return word == "waive";
  }

  std::string ReadSocket(const toml::node& node, std::string_view key) {
    std::string path(node.value_exact<std::string_view>().value_or(""));
    if (!path.starts_with('/') || path.size() > kLongestSocket || path.find('\0') != std::string::npos) {
      Wrong(node.source(), fmt::format("{} is not an absolute path of at most {} bytes", key, kLongestSocket),
            fmt::format("write {} = \"/run/munge/munge.socket.2\", for example, or leave it out", key));
    }
    return path;
  }

  // The name of a rule or quota, used in the audit and the log.
  std::string ReadName(const toml::table& table, std::string_view what) {
    const toml::node* node = table.get("name");
    if (node == nullptr) {
      Wrong(table.source(), fmt::format("a {} has no name", what),
            "write name = \"...\": the audit and messages show it");
      return {};
    }
    std::string name(node->value_exact<std::string_view>().value_or(""));
    const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::string_view("-_. ").find(c) != std::string_view::npos;
    });
    if (name.empty() || name.size() > 64 || !plain) {
      Wrong(node->source(),
            fmt::format("the name of a {} must have 1 to 64 letters, digits, '-', '_', '.' and spaces", what),
            "write name = \"no-services\", for example");
    } else if (!names_.insert(name).second) {
      Wrong(node->source(), fmt::format("a {} '{}' already exists", what, name), "give each a unique name");
    }
    return name;
  }

  // Calls `take` for each value of `key`, which is one value or a list.
  template <typename Take>
  void ForEachValue(const toml::table& table, std::string_view key, const Take& take) {
    const toml::node* node = table.get(key);
    const toml::array* list = node == nullptr ? nullptr : node->as_array();
    if (list == nullptr) {
      return node == nullptr ? void() : take(*node);
    }
    if (list->empty()) {
      Wrong(node->source(), fmt::format("{} is an empty list, which matches nothing", key),
            "leave it out to match everything");
    }
    for (const toml::node& element : *list) {
      take(element);
    }
  }

  template <typename Id, typename Find>
  std::vector<Id> ReadAccounts(const toml::table& table, std::string_view key, std::string_view kind,
                               const Find& find) {
    std::vector<Id> ids;
    ForEachValue(table, key, [&](const toml::node& node) {
      if (const auto number = node.value_exact<int64_t>(); number.has_value()) {
        if (*number < 0 || *number >= std::numeric_limits<uint32_t>::max()) {
          Wrong(node.source(), fmt::format("{} {} is not a valid ID of a {}", key, *number, kind),
                "give 0 to 4294967294");
        }
        ids.push_back(Id(static_cast<uint32_t>(*number)));
      } else if (const auto name = node.value_exact<std::string>(); name.has_value()) {
        const auto id = find(*name);
        if (!id.has_value()) {
          Wrong(node.source(), fmt::format("{}: there is no {} '{}'", key, kind, CleanText(*name)),
                fmt::format(
                    "correct the name; for one that is not in /etc/{}, give its number (`getent {} NAME` shows it)",
                    kind == "user" ? "passwd" : "group", kind == "user" ? "passwd" : "group"));
        }
        ids.push_back(id.value_or(Id()));
      } else {
        Wrong(node.source(), fmt::format("{} is neither a name nor a number, nor a list of them", key),
              fmt::format("write {} = \"root\" or {} = [1000, 1001], for example", key, key));
      }
    });
    return ids;
  }

  std::vector<NameGlob> ReadGlobs(const toml::table& table, std::string_view key) {
    std::vector<NameGlob> globs;
    ForEachValue(table, key, [&](const toml::node& node) {
      const auto pattern = node.value_exact<std::string_view>();
      if (!pattern.has_value()) {
        Wrong(node.source(), fmt::format("{} is neither a pattern nor a list of patterns", key),
              fmt::format("write {} = \"python*\", for example: {}", key, kPatternRemedy));
        return;
      }
      if (auto glob = NameGlob::Compile(*pattern); glob.has_error()) {
        Wrong(node.source(), fmt::format("{}: {}", key, glob.error().message), glob.error().remedy);
      } else {
        globs.push_back(std::move(glob).value());
      }
    });
    return globs;
  }

  PolicySubject ReadSubject(const toml::table& table) {
    return {ReadAccounts<Uid>(table, "user", "user", FindUser), ReadAccounts<Gid>(table, "group", "group", FindGroup)};
  }

  PolicyRule ReadRule(const toml::table& table) {
    PolicyRule rule;
    RefuseOthers(table, "a rule",
                 {"name", "action", "user", "group", "owner", "command", "exe", "container", "cgroup"});
    rule.name = ReadName(table, "rule");
    if (const toml::node* action = table.get("action")) {
      rule.allows = ReadAction(*action, "action");
    } else {
      Wrong(table.source(), fmt::format("the rule '{}' has no action", rule.name),
            "write action = \"allow\" or action = \"deny\"");
    }
    rule.callers = ReadSubject(table);
    rule.owners = ReadAccounts<Uid>(table, "owner", "user", FindUser);
    rule.commands = ReadGlobs(table, "command");
    rule.programs = ReadGlobs(table, "exe");
    rule.containers = ReadGlobs(table, "container");
    rule.cgroups = ReadGlobs(table, "cgroup");
    rule.text = Text(table);
    return rule;
  }

  // Reads a plain number, or text with a unit.
  template <typename Amount>
  std::optional<Amount> ReadAmount(const toml::table& table, std::string_view key, std::string_view example,
                                   Result<Amount> (*parse)(std::string_view)) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      return std::nullopt;
    }
    const auto number = node->value_exact<int64_t>();
    const Result<Amount> amount =
        parse(number.has_value() ? fmt::to_string(*number) : node->value_exact<std::string>().value_or(""));
    if (amount.has_error()) {
      Wrong(node->source(), fmt::format("{} is not a valid amount", key), fmt::format("write {} = {}", key, example));
      return std::nullopt;
    }
    return amount.value();
  }

  PolicyQuota ReadQuota(const toml::table& table) {
    PolicyQuota entry;
    RefuseOthers(table, "a quota", {"name", "user", "group", "captures", "bytes", "duration"});
    entry.quota.name = ReadName(table, "quota");
    entry.callers = ReadSubject(table);
    if (const toml::node* node = table.get("captures")) {
      const int64_t captures = node->value_exact<int64_t>().value_or(-1);
      if (captures < 0 || captures > 4096) {
        Wrong(node->source(), "captures is not a number from 0 to 4096", "write captures = 4, for example");
      }
      entry.quota.captures = static_cast<size_t>(captures);
    }
    entry.quota.bytes = ReadAmount<uint64_t>(table, "bytes", "\"500MB\" or \"8GB\"", ParseSize);
    entry.quota.duration = ReadAmount<Nanos>(table, "duration", "\"90s\" or \"30m\"", ReadTime);
    entry.text = Text(table);
    return entry;
  }

  std::vector<std::string> ReadNames(const toml::table& table, std::string_view key) {
    std::vector<std::string> names;
    ForEachValue(table, key, [&](const toml::node& node) {
      const auto name = node.value_exact<std::string>();
      if (!name.has_value() || name->empty()) {
        Wrong(node.source(), fmt::format("{} is neither a name nor a list of names", key),
              fmt::format("write {} = \"...\" exactly as in the certificate: it is not a pattern", key));
      }
      names.push_back(name.value_or(""));
    });
    return names;
  }

  bool ReadBool(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    const auto value = node == nullptr ? std::optional(false) : node->value_exact<bool>();
    if (!value.has_value()) {
      Wrong(node->source(), fmt::format("{} is neither true nor false", key), fmt::format("write {} = true", key));
    }
    return value.value_or(false);
  }

  // For a user without an entry in /etc/passwd, the rule must give the group: with a wrong group the kernel would
  // answer for different rights.
  void AddUser(IdentityRule& rule, const toml::table& table, Uid uid, const std::vector<Gid>& gid) {
    const auto account = FindAccount(uid);
    if (!account.has_value() && gid.size() != 1) {
      Wrong(table.source(),
            fmt::format("the identity '{}' names user {}, who is not in /etc/passwd: the group is unknown", rule.name,
                        uid.value),
            "add gid = NUMBER (`id -g USER` shows it)");
    }
    if (!rule.allows_root && (uid.value == 0 || uid.value == kNobody)) {
      Wrong(table.source(),
            fmt::format("the identity '{}' would give clients on other machines the rights of {}", rule.name,
                        uid.value == 0 ? "root" : "nobody (65534)"),
            "leave that user out, or write root = true if this is intended");
    }
    rule.users.push_back(account.has_value() ? LocalUser{account->name, uid, account->gid, account->groups}
                                             : LocalUser{"", uid, gid.empty() ? Gid() : gid.front(), {}});
  }

  void ReadIdentityUsers(const toml::table& table, IdentityRule& rule) {
    const auto gids = ReadAccounts<Gid>(table, "gid", "group", FindGroup);
    const auto user = ReadAccounts<Uid>(table, "user", "user", FindUser);
    std::vector<Uid> others = ReadAccounts<Uid>(table, "impersonate", "user", FindUser);
    for (const Gid group : ReadAccounts<Gid>(table, "impersonate_group", "group", FindGroup)) {
      for (const Uid member : MembersOf(group)) {
        others.push_back(member);
      }
    }
    rule.impersonates = table.contains("impersonate") || table.contains("impersonate_group");
    rule.asks_munge = ReadBool(table, "munge");
    if ((user.size() != 1 || rule.impersonates) && (!user.empty() || !rule.impersonates)) {
      Wrong(table.source(), fmt::format("the identity '{}' names no user", rule.name),
            "write user = \"...\" for one user, or impersonate = [...] or impersonate_group = \"...\"");
      return;
    }
    if (rule.asks_munge && !rule.impersonates) {
      Wrong(table.source(),
            fmt::format("the identity '{}' is one user, but munge = true selects one of several", rule.name),
            "use impersonate or impersonate_group instead of user, or leave munge out");
    }
    for (const Uid uid : rule.impersonates ? others : user) {
      AddUser(rule, table, uid, gids);
    }
  }

  IdentityRule ReadIdentity(const toml::table& table) {
    IdentityRule rule;
    RefuseOthers(table, "an identity",
                 {"name", "common_name", "uri", "user", "impersonate", "impersonate_group", "munge", "gid", "root"});
    rule.name = ReadName(table, "identity");
    rule.common_names = ReadNames(table, "common_name");
    rule.uris = ReadNames(table, "uri");
    if (rule.common_names.empty() && rule.uris.empty()) {
      Wrong(table.source(), fmt::format("the identity '{}' matches no certificate", rule.name),
            "write uri = \"...\" or common_name = \"...\"; common_name = \"*\" matches every certificate of the "
            "authority");
    }
    rule.allows_root = ReadBool(table, "root");
    ReadIdentityUsers(table, rule);
    rule.text = Text(table);
    return rule;
  }

  const std::string file_;
  std::optional<Error> wrong_;
  uint32_t line_ = 0;
  std::set<std::string> names_;
};

}  // namespace

Result<Policy> ParsePolicy(std::string_view text, const std::string& file) {
  Reader reader(file);
  const toml::parse_result parsed = toml::parse(text, file);
  if (!parsed) {
    return reader.At(parsed.error().source().begin.line,
                     fmt::format("this is not valid TOML: {}", CleanText(parsed.error().description())),
                     "https://toml.io describes the format; packaging/policy.example.toml is an example");
  }
  return reader.Read(parsed.table());
}

}  // namespace ptrace_prof
