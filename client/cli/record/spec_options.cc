#include "client/cli/record/spec_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "rpc/messages/check_spec.h"
#include "rpc/messages/option_text.h"

namespace ptrace_prof {
namespace {

const char* GroupOf(v1::Option::Modes modes) {
  switch (modes) {
    case v1::Option::CALLS: return "Tracing calls (--mode trace or auto)";
    case v1::Option::SAMPLES:
    case v1::Option::SAMPLES_ONLY: return "Sampling (--mode sample or auto)";
    default: return "Options";
  }
}

bool IsSwitch(const OptionRow& row) { return row.option.kind() == v1::Option::SWITCH; }
bool IsRepeated(const OptionRow& row) {
  return row.option.kind() == v1::Option::GLOBS || row.option.kind() == v1::Option::PAIRS;
}

bool IsPartOf(std::string_view path, std::string_view whole) {
  return path == whole || (path.starts_with(whole) && path[whole.size()] == '.');
}

}  // namespace

void SpecOptions::Declare(CLI::App& app, bool (*is_wanted)(const OptionRow&)) {
  for (const OptionRow& row : OptionTable()) {
    if (row.option.help().empty() || !is_wanted(row)) {
      continue;
    }
    // Two fields may share a flag; the mode decides which of them it sets.
    CLI::Option* known = app.get_option_no_throw(std::string(row.long_flag()));
    if (known != nullptr) {
      known
          ->description(
              fmt::format("{}. {}: {}", known->get_description(), GroupOf(row.option.modes()), row.option.help()))
          ->group("Options");
      const auto same = std::ranges::find(declared_, known, &Declared::option);
      declared_.push_back({.row = &row, .option = same->option});
      continue;
    }
    DeclareRow(app, declared_.emplace_back(Declared{.row = &row}));
  }
}

void SpecOptions::DeclareRow(CLI::App& app, Declared& one) {
  const v1::Option& says = one.row->option;
  const char* group = GroupOf(says.modes());
  if (!says.short_flag().empty()) {
    one.short_option = app.add_flag(says.short_flag(), one.is_on, says.short_help())->group(group);
  }
  CLI::Option* option = IsSwitch(*one.row)     ? app.add_flag(says.flag(), one.is_on, says.help())
                        : IsRepeated(*one.row) ? app.add_option(says.flag(), one.texts, says.help())
                                               : app.add_option(says.flag(), one.text, says.help());
  option->group(group);
  one.option = option;
  if (!says.value().empty()) {
    option->type_name(says.value());
  }
  if (IsRepeated(*one.row)) {
    option->allow_extra_args(false);
  }
  if (!says.alone().empty()) {
    option->expected(0, 1);
  }
  if (!says.opposite().empty()) {
    app.add_flag(says.opposite(), one.is_opposite_on, says.opposite_help())
        ->excludes(std::string(one.row->long_flag()))
        ->group(group);
  }
}

void SpecOptions::Say(std::string_view path, std::string text) {
  declared_.push_back({.row = &OptionAt(path), .text = std::move(text)});
}

bool SpecOptions::IsGiven(const Declared& one) {
  return one.option == nullptr || one.option->count() > 0 ||
         (one.short_option != nullptr && one.short_option->count() > 0);
}

bool SpecOptions::Says(std::string_view path) const {
  return std::ranges::any_of(declared_,
                             [&](const Declared& one) { return IsPartOf(one.row->path, path) && IsGiven(one); });
}

// Refuses an option together with another one that sets a part of the same field.
Result<void> SpecOptions::CheckParts() const {
  for (const Declared& whole : declared_) {
    for (const Declared& part : declared_) {
      if (&whole != &part && whole.row != part.row && IsPartOf(part.row->path, whole.row->path) && IsGiven(whole) &&
          IsGiven(part)) {
        return Error{Code::kInvalidArgument,
                     fmt::format("{} already sets {}", NameOf(*whole.row, SpecDoor::kCommandLine),
                                 NameOf(*part.row, SpecDoor::kCommandLine)),
                     "leave one of them out"};
      }
    }
  }
  return {};
}

Result<v1::CaptureSpec> SpecOptions::Read() const {
  PP_RETURN_IF_ERROR(CheckParts());
  v1::CaptureSpec spec;
  for (const Declared& one : declared_) {
    const bool is_shared = std::ranges::count(declared_, one.option, &Declared::option) > 1 && one.option != nullptr;
    if (!IsGiven(one) || (is_shared && !GoesWith(one.row->option.modes(), spec.mode()))) {
      continue;
    }
    PP_RETURN_IF_ERROR(CheckMode(*one.row, spec.mode(), SpecDoor::kCommandLine));
    if (IsRepeated(*one.row)) {
      for (const std::string& text : one.texts) {
        PP_RETURN_IF_ERROR(SetOption(*one.row, text, &spec));
      }
      continue;
    }
    const bool is_short = one.option != nullptr && one.option->count() == 0;
    const Declared& written = *std::ranges::find(declared_, one.option, &Declared::option);
    const std::string& text = IsSwitch(*one.row)      ? "true"
                              : is_short              ? one.row->option.short_means()
                              : one.option == nullptr ? one.text
                              : written.text.empty()  ? one.row->option.alone()
                                                      : written.text;
    PP_RETURN_IF_ERROR(SetOption(*one.row, text, &spec));
  }
  PP_RETURN_IF_ERROR(CheckSpec(spec, SpecDoor::kCommandLine));
  FillDefaults(&spec);
  return spec;
}

}  // namespace ptrace_prof
