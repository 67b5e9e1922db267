#include "daemon/server/captures/kept_listings.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr Uid kAnn(1001);
constexpr Uid kBob(1002);
constexpr Nanos kLong = Nanos::FromSeconds(3600);

std::shared_ptr<const Listing> ListingOf(int pid) {
  Listing listing;
  listing.entries.resize(1);
  listing.entries[0].pid = Pid(pid);
  return std::make_shared<const Listing>(std::move(listing));
}

TEST(KeptListings, AreOfWhoAsked) {
  KeptListings kept({.per_user = 4, .lifetime = kLong});
  const std::string anns = kept.Keep(kAnn, ListingOf(1));
  const std::string bobs = kept.Keep(kBob, ListingOf(2));
  EXPECT_NE(anns, bobs);
  ASSERT_NE(kept.Find(anns, kAnn), nullptr);
  EXPECT_EQ(kept.Find(anns, kAnn)->entries[0].pid, Pid(1));
  EXPECT_EQ(kept.Find(anns, kBob), nullptr);
  EXPECT_EQ(kept.Find("nonsense", kAnn), nullptr);
}

TEST(KeptListings, TheOldestGoesWhenAUserHasTooMany) {
  KeptListings kept({.per_user = 2, .lifetime = kLong});
  const std::string bobs = kept.Keep(kBob, ListingOf(9));
  const std::string first = kept.Keep(kAnn, ListingOf(1));
  const std::string second = kept.Keep(kAnn, ListingOf(2));
  const auto being_read = kept.Find(first, kAnn);
  const std::string third = kept.Keep(kAnn, ListingOf(3));
  EXPECT_EQ(kept.Find(first, kAnn), nullptr);
  EXPECT_EQ(being_read->entries[0].pid, Pid(1)) << "who holds it may go on";
  EXPECT_NE(kept.Find(second, kAnn), nullptr);
  EXPECT_NE(kept.Find(third, kAnn), nullptr);
  EXPECT_NE(kept.Find(bobs, kBob), nullptr) << "not at the cost of others";
}

TEST(KeptListings, AreForgottenInTime) {
  KeptListings kept({.per_user = 2, .lifetime = Nanos()});
  const auto listing = ListingOf(1);
  const std::string id = kept.Keep(kAnn, listing);
  EXPECT_EQ(listing.use_count(), 2);
  kept.Expire();
  EXPECT_EQ(listing.use_count(), 1) << "its memory is given back without anybody asking";
  EXPECT_EQ(kept.Find(id, kAnn), nullptr);
}

}  // namespace
}  // namespace ptrace_prof
