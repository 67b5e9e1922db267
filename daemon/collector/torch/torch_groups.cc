#include "daemon/collector/torch/torch_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "attach/base/clean_text.h"
#include "symbolizer/cpython/interpreter_list.h"
#include "symbolizer/cpython/named_items.h"

namespace ptrace_prof {
namespace {

constexpr size_t kMostGroups = 4096;
constexpr size_t kMostRanks = 1 << 16;    // of a group
constexpr size_t kLongestText = 1 << 16;  // of pg_config
constexpr size_t kLongestName = 256;
constexpr std::string_view kModule = "torch.distributed.distributed_c10d";

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : CleanText(text)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
    }
    quoted += c;
  }
  return quoted + "\"";
}

// The dictionaries in which torch.distributed keeps what it knows of its groups, from group to fact: their names have
// been the same since 1.13.
class GroupTables {
 public:
  GroupTables(RemoteMemory& memory, const PythonProcess& python) : reader_(memory, python.layout) {
    if (const auto main = FindMainInterpreter(memory, python.layout, python.runtime)) {
      module_ = FindModule(memory, python.layout, *main, kModule);
    }
  }

  // In the order in which they were made: the default group first.
  std::vector<RemoteAddr> Groups() {
    std::vector<RemoteAddr> groups;
    if (const auto table = Table("_pg_map")) {
      reader_.VisitDict(*table, kMostGroups, [&](RemoteAddr key, RemoteAddr) {
        groups.push_back(key);
        return true;
      });
    }
    return groups;
  }

  std::optional<std::string> TextOf(std::string_view table, RemoteAddr group) {
    const auto value = ValueOf(table, group);
    return value && reader_.ReadTypeName(*value) == "str" ? reader_.ReadString(*value, kLongestName) : std::nullopt;
  }

  std::optional<std::string> BackendOf(RemoteAddr group) {
    const auto pair = ValueOf("_pg_map", group);
    const auto items = pair && reader_.ReadTypeName(*pair) == "tuple" ? reader_.ReadTuple(*pair, 1) : std::nullopt;
    return items && items->size() == 1 ? reader_.ReadString(items->front(), kLongestName) : std::nullopt;
  }

  std::optional<std::vector<int64_t>> RanksOf(RemoteAddr group) {
    const auto table = ValueOf("_pg_group_ranks", group);
    if (!table || reader_.ReadTypeName(*table) != "dict") {
      return std::nullopt;
    }
    std::vector<int64_t> ranks;
    bool are_numbers = true;
    const bool was_read = reader_.VisitDict(*table, kMostRanks, [&](RemoteAddr key, RemoteAddr) {
      const auto rank = reader_.ReadInt(key);
      are_numbers = rank.has_value();
      ranks.push_back(rank.value_or(-1));
      return are_numbers;
    });
    return was_read && are_numbers && ranks.size() < kMostRanks ? std::optional(ranks) : std::nullopt;
  }

 private:
  std::optional<RemoteAddr> Table(std::string_view name) {
    const auto table = module_ ? FindAttribute(reader_, *module_, name) : std::nullopt;
    return table && reader_.ReadTypeName(*table) == "dict" ? table : std::nullopt;
  }
  std::optional<RemoteAddr> ValueOf(std::string_view name, RemoteAddr group) {
    std::optional<RemoteAddr> found;
    if (const auto table = Table(name)) {
      reader_.VisitDict(*table, kMostGroups, [&](RemoteAddr key, RemoteAddr value) {
        found = key == group ? std::optional(value) : std::nullopt;
        return !found.has_value();
      });
    }
    return found;
  }

  ObjectReader reader_;
  std::optional<RemoteAddr> module_;
};

// nullopt: something of it could not be read.
std::optional<std::string> ConfigOf(GroupTables& tables, RemoteAddr group) {
  const auto name = tables.TextOf("_pg_names", group);
  const auto ranks = tables.RanksOf(group);
  if (!name || !ranks) {
    return std::nullopt;
  }
  const auto backends = tables.TextOf("_pg_backend_config", group);  // from 2.1 on
  return fmt::format(R"({{"pg_name": {}, {}"pg_size": {}, "ranks": [{}]}})", Quoted(*name),
                     backends ? fmt::format(R"("backend_config": {}, )", Quoted(*backends)) : "", ranks->size(),
                     fmt::join(*ranks, ", "));
}

}  // namespace

std::string ReadProcessGroups(RemoteMemory& memory, const PythonProcess& python) {
  GroupTables tables(memory, python);
  const std::vector<RemoteAddr> groups = tables.Groups();
  if (groups.empty() || groups.size() >= kMostGroups) {
    return "";
  }
  const auto backend = tables.BackendOf(groups.front());
  const auto ranks = tables.RanksOf(groups.front());
  if (!backend || !ranks) {
    return "";
  }
  std::string configs;
  for (const RemoteAddr group : groups) {
    const auto config = ConfigOf(tables, group);
    if (!config || configs.size() + config->size() > kLongestText) {
      configs.clear();
      break;
    }
    configs += (configs.empty() ? "" : ", ") + *config;
  }
  return fmt::format(R"({{"backend": {}, "world_size": {}, "pg_count": {}{}}})", Quoted(*backend), ranks->size(),
                     groups.size(), configs.empty() ? "" : fmt::format(R"(, "pg_config": [{}])", configs));
}

}  // namespace ptrace_prof
