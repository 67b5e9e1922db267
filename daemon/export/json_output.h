// Streams JSON into an Output with rapidjson's writer.
//
// `<`, which occurs only in strings, is written as \u003c, so that the result can be embedded in an HTML page.
#pragma once

#include <rapidjson/reader.h>
#include <rapidjson/writer.h>

#include <string>
#include <string_view>

#include "daemon/export/output.h"

namespace ptrace_prof {

class JsonStream {
 public:
  using Ch = char;

  explicit JsonStream(Output& out) : out_(out) {}
  void Put(char c) {
    if (c == '<') {
      out_.Write("\\u003c");
    } else {
      out_.Put(c);
    }
  }
  void Flush() {}

 private:
  Output& out_;
};

// Whether a text, which may be anything, is one JSON value that begins with `first`, and nothing else.
inline bool IsJson(const std::string& text, char first) {
  rapidjson::Reader reader;
  rapidjson::StringStream stream(text.c_str());
  rapidjson::BaseReaderHandler<> accepts;
  return text.starts_with(first) && text.size() > 1 &&
         !reader.Parse<rapidjson::kParseIterativeFlag>(stream, accepts).IsError() && stream.Tell() == text.size();
}

class JsonOutput : public rapidjson::Writer<JsonStream> {
 public:
  explicit JsonOutput(Output& out) : rapidjson::Writer<JsonStream>(stream_), stream_(out) {}

  void Text(std::string_view text) { String(text.data(), static_cast<rapidjson::SizeType>(text.size())); }
  void Member(std::string_view name, std::string_view text) {
    Name(name);
    Text(text);
  }
  void Member(std::string_view name, int64_t number) {
    Name(name);
    Int64(number);
  }
  void Name(std::string_view name) { Key(name.data(), static_cast<rapidjson::SizeType>(name.size())); }

 private:
  JsonStream stream_;
};

}  // namespace ptrace_prof
