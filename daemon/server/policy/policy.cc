#include "daemon/server/policy/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "attach/proc/cgroup_facts.h"

namespace ptrace_prof {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

enum class Fit : uint8_t { kYes, kNo, kUnknown };

bool Concerns(const PolicySubject& subject, const PolicyCaller& caller) {
  const auto is_named = [&](Gid group) { return std::ranges::find(subject.groups, group) != subject.groups.end(); };
  return (subject.users.empty() || std::ranges::find(subject.users, caller.uid) != subject.users.end()) &&
         (subject.groups.empty() || is_named(caller.gid) || std::ranges::any_of(caller.groups, is_named));
}

bool AnyMatches(const std::vector<NameGlob>& globs, std::string_view name) {
  return std::ranges::any_of(globs, [&](const NameGlob& glob) { return glob.Matches(name); });
}

Fit FitsProgram(const std::vector<NameGlob>& globs, std::string_view path) {
  if (path.empty()) {
    return Fit::kUnknown;
  }
  if (path.ends_with(kDeleted)) {
    path.remove_suffix(kDeleted.size());
  }
  return AnyMatches(globs, path) ? Fit::kYes : Fit::kNo;
}

// Each hierarchy has a line "number:controllers:path".
Fit FitsCgroup(const std::vector<NameGlob>& globs, std::string_view text) {
  if (text.empty()) {
    return Fit::kUnknown;
  }
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const size_t path = text.substr(0, end).find(":/");
    if (path != std::string_view::npos && AnyMatches(globs, text.substr(path + 1, end - path - 1))) {
      return Fit::kYes;
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return Fit::kNo;
}

Fit FitsContainer(const std::vector<NameGlob>& globs, std::string_view text) {
  if (text.empty()) {
    return Fit::kUnknown;
  }
  const std::string container = ParseCgroup(text).container;
  return !container.empty() && AnyMatches(globs, container) ? Fit::kYes : Fit::kNo;
}

bool Fits(const PolicyRule& rule, const PolicyCaller& caller, const TargetFacts& target) {
  const auto counts = [&](Fit fit) { return fit == Fit::kYes || (fit == Fit::kUnknown && !rule.allows); };
  return Concerns(rule.callers, caller) &&
         (rule.owners.empty() || std::ranges::find(rule.owners, target.owner) != rule.owners.end()) &&
         (rule.commands.empty() || AnyMatches(rule.commands, target.command)) &&
         (rule.programs.empty() || counts(FitsProgram(rule.programs, target.program))) &&
         (rule.containers.empty() || counts(FitsContainer(rule.containers, target.cgroup))) &&
         (rule.cgroups.empty() || counts(FitsCgroup(rule.cgroups, target.cgroup)));
}

std::string_view NameOf(const PolicyRule& rule) { return rule.name; }
std::string_view NameOf(const IdentityRule& rule) { return rule.name; }
std::string_view NameOf(const PolicyQuota& entry) { return entry.quota.name; }

// The names of the entries for which `condition` holds, joined by commas.
template <typename Entry, typename Condition>
std::string Names(const std::vector<Entry>& entries, const Condition& condition) {
  std::string names;
  for (const Entry& entry : entries) {
    if (condition(entry)) {
      names += fmt::format("{}{}", names.empty() ? "" : ", ", NameOf(entry));
    }
  }
  return names;
}

template <typename Entry>
const Entry* FindNamed(const std::vector<Entry>& entries, std::string_view name) {
  const auto found = std::ranges::find_if(entries, [&](const Entry& entry) { return NameOf(entry) == name; });
  return found == entries.end() ? nullptr : &*found;
}

template <typename Entry>
bool IsReordered(const std::vector<Entry>& before, const std::vector<Entry>& after) {
  return !std::ranges::equal(
      before, after, {}, [](const Entry& entry) { return NameOf(entry); },
      [](const Entry& entry) { return NameOf(entry); });
}

void Add(std::string& changes, std::string_view what, std::string_view which) {
  if (!which.empty()) {
    changes += fmt::format("{}{}: {}", changes.empty() ? "" : "; ", what, which);
  }
}

template <typename Entry>
void AddChanges(std::string& changes, std::string_view what, const std::vector<Entry>& before,
                const std::vector<Entry>& after) {
  const size_t known = changes.size();
  const auto missing_in = [](const auto& list) {
    return [&list](const Entry& entry) { return FindNamed(list, NameOf(entry)) == nullptr; };
  };
  Add(changes, fmt::format("{} added", what), Names(after, missing_in(before)));
  Add(changes, fmt::format("{} removed", what), Names(before, missing_in(after)));
  Add(changes, fmt::format("{} changed", what), Names(after, [&](const Entry& entry) {
        const Entry* was = FindNamed(before, NameOf(entry));
        return was != nullptr && was->text != entry.text;
      }));
  if (changes.size() == known && IsReordered(before, after)) {
    Add(changes, what, "in another order");
  }
}

}  // namespace

PolicyVerdict Policy::Judge(const PolicyCaller& caller, const TargetFacts& target) const {
  for (const PolicyRule& rule : rules) {
    if (Fits(rule, caller, target)) {
      return {rule.allows, rule.name};
    }
  }
  return {allows_by_default, ""};
}

Policy Policy::About(const PolicyCaller& caller) const {
  Policy about;
  about.allows_by_default = allows_by_default;
  for (const PolicyRule& rule : rules) {
    if (!Concerns(rule.callers, caller)) {
      continue;
    }
    const bool fits_everything = rule.owners.empty() && rule.commands.empty() && rule.programs.empty() &&
                                 rule.containers.empty() && rule.cgroups.empty();
    if (fits_everything && rule.allows) {  // later rules are never reached
      about.allows_by_default = true;
      break;
    }
    about.rules.push_back(rule);
    about.rules.back().callers = {};
  }
  return about;
}

UserQuota Policy::QuotaOf(const PolicyCaller& caller) const {
  for (const PolicyQuota& entry : quotas) {
    if (Concerns(entry.callers, caller)) {
      return entry.quota;
    }
  }
  return {};
}

const IdentityRule* Policy::FindIdentity(std::string_view common_name, const std::vector<std::string>& uris) const {
  const auto found =
      std::ranges::find_if(identities, [&](const IdentityRule& rule) { return rule.Fits(common_name, uris); });
  return found == identities.end() ? nullptr : &*found;
}

bool Policy::denies_anything() const {
  return !allows_by_default || std::ranges::any_of(rules, [](const PolicyRule& rule) { return !rule.allows; });
}

std::string PolicyChanges(const Policy& before, const Policy& after) {
  std::string changes;
  if (before.allows_by_default != after.allows_by_default) {
    Add(changes, "default", after.allows_by_default ? "allow" : "deny");
  }
  if (before.cpu_share != after.cpu_share) {
    Add(changes, "cpu", after.cpu_share.has_value() ? fmt::format("{:g}%", 100 * *after.cpu_share) : "no limit");
  }
  if (before.waives_yama != after.waives_yama) {
    Add(changes, "yama", std::string(after.waives_yama ? "waive" : "obey") + " (after a restart of ptrace-profd)");
  }
  if (before.munge_socket != after.munge_socket) {
    Add(changes, "munge_socket", after.munge_socket.empty() ? "the default one" : after.munge_socket);
  }
  AddChanges(changes, "rules", before.rules, after.rules);
  AddChanges(changes, "quotas", before.quotas, after.quotas);
  AddChanges(changes, "identities", before.identities, after.identities);
  return changes.empty() ? "nothing" : changes;
}

}  // namespace ptrace_prof
