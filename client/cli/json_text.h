// How commands write a member of a JSON object. Text comes from targets and daemons, so it is cleaned.
#pragma once

#include <rapidjson/rapidjson.h>

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "attach/base/clean_text.h"

namespace ptrace_prof {

template <typename Writer>
void PutText(Writer& json, std::string_view text) {
  const std::string clean = CleanText(text);
  json.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
}

template <typename Writer>
void Put(Writer& json, const char* key, std::string_view text) {
  json.Key(key);
  PutText(json, text);
}

template <typename Writer, std::integral Number>
void Put(Writer& json, const char* key, Number number) {
  json.Key(key);
  if constexpr (std::same_as<Number, bool>) {
    json.Bool(number);
  } else if constexpr (std::is_signed_v<Number>) {
    json.Int64(number);
  } else {
    json.Uint64(number);
  }
}

template <typename Writer, typename Texts>
void PutList(Writer& json, const char* key, const Texts& texts) {
  json.Key(key);
  json.StartArray();
  for (const std::string& text : texts) {
    PutText(json, text);
  }
  json.EndArray();
}

}  // namespace ptrace_prof
