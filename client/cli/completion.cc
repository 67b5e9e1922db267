#include "client/cli/completion.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "daemon/export/exporter.h"

namespace ptrace_prof {
namespace {

struct OptionText {
  std::vector<std::string> names;  // with dashes
  std::string description;
  bool takes_value = false;
};

// The options of the command and of its actions.
std::vector<OptionText> OptionsOf(const CLI::App& app) {
  std::vector<OptionText> texts;
  for (const CLI::App* action :
       app.get_parent() == nullptr ? std::vector<const CLI::App*>() : app.get_subcommands({})) {
    for (OptionText& text : OptionsOf(*action)) {
      const bool is_known =
          std::any_of(texts.begin(), texts.end(), [&](const auto& t) { return t.names == text.names; });
      if (!is_known) {
        texts.push_back(std::move(text));
      }
    }
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty() || option->get_positional()) {
      continue;
    }
    OptionText text{.description = option->get_description(), .takes_value = option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_snames()) {
      text.names.push_back("-" + name);
    }
    for (const std::string& name : option->get_lnames()) {
      text.names.push_back("--" + name);
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

std::string Words(const CLI::App& app) {
  std::string words;
  for (const OptionText& option : OptionsOf(app)) {
    for (const std::string& name : option.names) {
      words += (words.empty() ? "" : " ") + name;
    }
  }
  return words;
}

// "list watch cancel": the possible second words.
std::string Actions(const CLI::App& app) {
  std::string names;
  for (const CLI::App* action : app.get_subcommands({})) {
    names += (names.empty() ? "" : " ") + action->get_name();
  }
  return names;
}

std::string FormatNames() {
  std::string names;
  for (const FormatInfo& info : ExportFormats()) {
    names += (names.empty() ? "" : " ") + std::string(info.name);
  }
  return names;
}

// A single-quoted word for all three shells; in descriptions, fish and zsh interpret some characters.
std::string Quoted(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    quoted += c == '\'' ? std::string("’") : (c == '[' || c == ']' || c == ':') ? std::string(" ") : std::string(1, c);
  }
  return "'" + quoted + "'";
}

std::string Bash(const CLI::App& root) {
  std::string names;
  std::string cases;
  for (const CLI::App* app : root.get_subcommands({})) {
    names += (names.empty() ? "" : " ") + app->get_name();
    cases += fmt::format("    {}) words=\"{}\" actions=\"{}\" ;;\n", app->get_name(), Words(*app), Actions(*app));
  }
  return fmt::format(
      "_ptrace_prof() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} words actions\n"
      "  case $previous in\n"
      "    -p|--pid) COMPREPLY=($(compgen -W \"$(pgrep -f python 2>/dev/null)\" -- \"$current\")); return ;;\n"
      "    -f|--format) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n"
      "    --idle) COMPREPLY=($(compgen -W \"main all none\" -- \"$current\")); return ;;\n"
      "    --gpu-counters) COMPREPLY=($(compgen -W \"auto on off\" -- \"$current\")); return ;;\n"
      "    --gpu-detail) COMPREPLY=($(compgen -W \"coarse default full\" -- \"$current\")); return ;;\n"
      "    --on-full) COMPREPLY=($(compgen -W \"drop throttle stop\" -- \"$current\")); return ;;\n"
      "    --by) COMPREPLY=($(compgen -W \"functions lines threads processes\" -- \"$current\")); return ;;\n"
      "    --sort) COMPREPLY=($(compgen -W \"self total name\" -- \"$current\")); return ;;\n"
      "    -o|--output) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n"
      "  esac\n"
      "  case ${{COMP_WORDS[1]}} in\n{}"
      "    *) words=\"{} {}\" ;;\n"
      "  esac\n"
      "  if [[ $COMP_CWORD == 2 && -n $actions && $current != -* ]]; then words=$actions; fi\n"
      "  if [[ $current == -* || $COMP_CWORD == 1 || $words == \"$actions\" ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  else\n"
      "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "  fi\n"
      "}}\n"
      "complete -o filenames -F _ptrace_prof ptrace-prof\n",
      FormatNames(), cases, names, Words(root));
}

std::string Zsh(const CLI::App& root) {
  std::string names;
  std::string cases;
  for (const CLI::App* app : root.get_subcommands({})) {
    names += " " + app->get_name();
    cases += fmt::format("    {}) ", app->get_name());
    if (const std::string actions = Actions(*app); !actions.empty()) {
      cases += fmt::format("if (( CURRENT == 3 )); then compadd -- {}; return; fi\n      ", actions);
    }
    cases += "_arguments '*:file:_files'";
    for (const OptionText& option : OptionsOf(*app)) {
      for (const std::string& name : option.names) {
        cases += fmt::format(" \\\n      {}", Quoted(name) + "'['" + Quoted(option.description) + "']'" +
                                                  (option.takes_value ? "':value:_files'" : ""));
      }
    }
    cases += " ;;\n";
  }
  return fmt::format(
      "#compdef ptrace-prof\n"
      "_ptrace_prof() {{\n"
      "  if (( CURRENT == 2 )); then compadd -- --help --version{}; return; fi\n"
      "  case $words[2] in\n{}  esac\n"
      "}}\n"
      "compdef _ptrace_prof ptrace-prof\n",
      names, cases);
}

std::string Fish(const CLI::App& root) {
  std::string script;
  for (const CLI::App* app : root.get_subcommands({})) {
    script += fmt::format("complete -c ptrace-prof -n __fish_use_subcommand -f -a {} -d {}\n", app->get_name(),
                          Quoted(app->get_description()));
    for (const CLI::App* action : app->get_subcommands({})) {
      script += fmt::format("complete -c ptrace-prof -n '__fish_seen_subcommand_from {}' -f -a {} -d {}\n",
                            app->get_name(), action->get_name(), Quoted(action->get_description()));
    }
    for (const OptionText& option : OptionsOf(*app)) {
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      script += fmt::format("complete -c ptrace-prof -n '__fish_seen_subcommand_from {}'{}{} -d {}\n", app->get_name(),
                            names, option.takes_value ? " -r" : "", Quoted(option.description));
    }
  }
  return script + fmt::format("complete -c ptrace-prof -l format -s f -x -a '{}'\n", FormatNames());
}

struct Shell {
  std::string_view name;
  std::string (*script)(const CLI::App& root);
};
constexpr Shell kShells[] = {{"bash", Bash}, {"zsh", Zsh}, {"fish", Fish}};

}  // namespace

Result<std::string> CompletionScript(std::string_view shell, const CLI::App& root) {
  for (const Shell& row : kShells) {
    if (row.name == shell) {
      return row.script(root);
    }
  }
  return Error{Code::kInvalidArgument, fmt::format("no completion for '{}'", shell),
               "supported shells are bash, zsh and fish"};
}

}  // namespace ptrace_prof
