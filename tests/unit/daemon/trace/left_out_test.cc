// Calls that were left out are part of the accounting, and are reported in sentences.
#include "daemon/trace/left_out.h"

#include <gtest/gtest.h>

#include "daemon/trace/extension.pb.h"
#include "daemon/trace/extension_codec.h"

namespace ptrace_prof {
namespace {

TEST(LeftOut, ComesBackAsItWas) {
  Accounting accounting;
  accounting.left_out = {{LeftOutCause::kExcluded, "f", 1, 1'234'567, true},
                         {LeftOutCause::kFilter, "train.*", 0, 0, false},
                         {LeftOutCause::kNotFiltered, "", 12, 1'000, false},
                         {LeftOutCause::kOverhead, "leaf (train.py:1)", 1, 17, true}};
  WireEncoder out;
  EncodeAccounting(accounting, out);
  EXPECT_EQ(DecodeAccounting(out.buffer()).left_out, accounting.left_out);
  trace::Accounting read;
  ASSERT_TRUE(read.ParseFromString(out.buffer()));
  ASSERT_EQ(read.left_out_size(), 4);
  EXPECT_EQ(read.left_out(0).what(), "f");
  EXPECT_EQ(read.left_out(0).calls(), 1'234'567);
  EXPECT_TRUE(read.left_out(3).switched_off());
}

TEST(LeftOut, ACauseOfTheFutureIsSkipped) {
  trace::Accounting message;
  message.add_left_out()->set_cause(77);
  message.add_left_out()->set_what("f");
  const Accounting read = DecodeAccounting(message.SerializeAsString());
  ASSERT_EQ(read.left_out.size(), 1);
  EXPECT_EQ(read.left_out[0].what, "f");
}

TEST(LeftOut, Sentences) {
  const std::pair<LeftOut, std::string> rows[] = {
      {{LeftOutCause::kExcluded, "f", 1, 1'234'567, false}, "--exclude 'f' left out 1 function (1,234,567 calls)"},
      {{LeftOutCause::kExcluded, "f", 2, 1, true},
       "--exclude 'f' left out 2 functions (1 call; later calls were not counted)"},
      {{LeftOutCause::kExcluded, "a\nb", 0, 0, false}, R"(--exclude 'a\x0ab' matched none of the called functions)"},
      {{LeftOutCause::kFilter, "f", 3, 0, false}, ""},
      {{LeftOutCause::kFilter, "f", 0, 0, false}, "--filter 'f' matched none of the called functions"},
      {{LeftOutCause::kNotFiltered, "", 12, 1'000, false}, "--filter left out 12 functions (1,000 calls)"},
      {{LeftOutCause::kNotFiltered, "", 0, 0, false}, ""},
      {{LeftOutCause::kOverhead, "leaf (train.py:1)", 1, 100, true},
       "--max-overhead switched off leaf (train.py:1) after 100 calls"},
  };
  for (const auto& [left_out, sentence] : rows) {
    EXPECT_EQ(Sentence(left_out), sentence);
  }
}

}  // namespace
}  // namespace ptrace_prof
