#include "attach/proc/cgroup_facts.h"

#include <algorithm>
#include <array>

namespace ptrace_prof {
namespace {

constexpr size_t kShortId = 12;
constexpr size_t kLongestName = 64;

// A directory name "PREFIXid" or "PREFIXid.scope".
struct Prefix {
  std::string_view text;
  std::string_view runtime;
  bool hex;  // a hexadecimal id follows; otherwise a name
};
constexpr Prefix kPrefixes[] = {
    {"docker-", "docker", true},
    {"cri-containerd-", "containerd", true},
    {"crio-", "cri-o", true},
    {"libpod-", "podman", true},
    {"nerdctl-", "containerd", true},
    {"apptainer-", "apptainer", false},
    {"singularity-", "singularity", false},
    {"lxc.payload.", "lxc", false},
    {"machine-", "machine", false},
};

// A directory of this name contains the directories of containers.
struct Parent {
  std::string_view name;
  std::string_view runtime;
  bool hex;
};
constexpr Parent kParents[] = {
    {"docker", "docker", true}, {"cri-containerd", "containerd", true}, {"libpod_parent", "podman", true},
    {"lxc", "lxc", false},      {"lxc.payload", "lxc", false},
};

bool IsHexId(std::string_view text) {
  return text.size() >= kShortId && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.size() <= 20 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view WithoutScope(std::string_view name) {
  constexpr std::string_view kScope = ".scope";
  return name.ends_with(kScope) ? name.substr(0, name.size() - kScope.size()) : name;
}

class PathWalk {
 public:
  explicit PathWalk(CgroupFacts& facts) : facts_(facts) {}

  void Visit(std::string_view name) {
    in_slurm_ = in_slurm_ || name.find("slurm") != std::string_view::npos;
    in_kubernetes_ = in_kubernetes_ || name.starts_with("kubepods");
    if (in_slurm_) {
      Slurm(name);
    }
    Container(name);
    previous_ = name;
  }

 private:
  void Slurm(std::string_view name) {
    if (name.starts_with("job_") && IsNumber(name.substr(4))) {
      facts_.slurm_job = name.substr(4);
    } else if (name.starts_with("step_")) {
      facts_.slurm_step = name.substr(5, kLongestName);
    }
  }

  void Container(std::string_view name) {
    const std::string_view plain = WithoutScope(name);
    for (const Prefix& prefix : kPrefixes) {
      const bool fits = plain.size() > prefix.text.size() && plain.starts_with(prefix.text);
      if (fits && (!prefix.hex || IsHexId(plain.substr(prefix.text.size()))) &&
          (prefix.hex || name != plain || prefix.runtime == "lxc")) {
        return Take(prefix.runtime, plain.substr(prefix.text.size()), prefix.hex);
      }
    }
    for (const Parent& parent : kParents) {
      if (previous_ == parent.name && !plain.empty() && (!parent.hex || IsHexId(plain))) {
        return Take(parent.runtime, plain, parent.hex);
      }
    }
    if (in_kubernetes_ && IsHexId(plain)) {
      Take("kubernetes", plain, true);
    }
  }

  void Take(std::string_view runtime, std::string_view id, bool hex) {
    facts_.container_runtime = in_kubernetes_ ? "kubernetes" : runtime;
    facts_.container = id.substr(0, hex ? kShortId : kLongestName);
  }

  CgroupFacts& facts_;
  std::string_view previous_;
  bool in_slurm_ = false;
  bool in_kubernetes_ = false;
};

// Directories are separated by '/', and by ':' if containerd puts a slice, itself and the id into one name.
void WalkPath(std::string_view path, CgroupFacts& facts) {
  PathWalk walk(facts);
  while (!path.empty()) {
    const size_t end = std::min(path.find_first_of("/:"), path.size());
    walk.Visit(path.substr(0, end));
    path.remove_prefix(std::min(end + 1, path.size()));
  }
}

}  // namespace

CgroupFacts ParseCgroup(std::string_view text) {
  CgroupFacts facts;
  while (!text.empty()) {
    const size_t newline = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, newline);
    if (const size_t slash = line.find(":/"); slash != std::string_view::npos) {
      WalkPath(line.substr(slash + 2), facts);
    }
    text.remove_prefix(std::min(newline + 1, text.size()));
  }
  return facts;
}

}  // namespace ptrace_prof
