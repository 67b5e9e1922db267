#include "daemon/server/captures/kept_listings.h"

#include <gtest/gtest.h>

namespace ptrace_prof {
namespace {

constexpr Uid kAnnUid(1001);
constexpr Uid kBobUid(1002);
constexpr Nanos kLong = Nanos::FromSeconds(3600);

std::shared_ptr<const Listing> ListingOf(int pid) {
  Listing listing;
  listing.entries.resize(1);
  listing.entries[0].pid = Pid(pid);
  return std::make_shared<const Listing>(std::move(listing));
}

TEST(KeptListings, AreOfWhoAsked) {
  KeptListings kept({.per_user = 4, .lifetime = kLong});
  const std::string anns = kept.Keep(kAnnUid, ListingOf(1));
  const std::string bobs = kept.Keep(kBobUid, ListingOf(2));
  EXPECT_NE(anns, bobs);
  ASSERT_NE(kept.Find(anns, kAnnUid), nullptr);
  EXPECT_EQ(kept.Find(anns, kAnnUid)->entries[0].pid, Pid(1));
  EXPECT_EQ(kept.Find(anns, kBobUid), nullptr);
  EXPECT_EQ(kept.Find("nonsense", kAnnUid), nullptr);
}

TEST(KeptListings, TheOldestGoesWhenAUserHasTooMany) {
  KeptListings kept({.per_user = 2, .lifetime = kLong});
  const std::string bobs = kept.Keep(kBobUid, ListingOf(9));
  const std::string first = kept.Keep(kAnnUid, ListingOf(1));
  const std::string second = kept.Keep(kAnnUid, ListingOf(2));
  const auto being_read = kept.Find(first, kAnnUid);
  const std::string third = kept.Keep(kAnnUid, ListingOf(3));
  EXPECT_EQ(kept.Find(first, kAnnUid), nullptr);
  EXPECT_EQ(being_read->entries[0].pid, Pid(1)) << "who holds it may go on";
  EXPECT_NE(kept.Find(second, kAnnUid), nullptr);
  EXPECT_NE(kept.Find(third, kAnnUid), nullptr);
  EXPECT_NE(kept.Find(bobs, kBobUid), nullptr) << "not at the cost of others";
}

TEST(KeptListings, AreForgottenInTime) {
  KeptListings kept({.per_user = 2, .lifetime = Nanos()});
  const auto listing = ListingOf(1);
  const std::string id = kept.Keep(kAnnUid, listing);
  EXPECT_EQ(listing.use_count(), 2);
  kept.Expire();
  EXPECT_EQ(listing.use_count(), 1) << "its memory is given back without anybody asking";
  EXPECT_EQ(kept.Find(id, kAnnUid), nullptr);
}

}  // namespace
}  // namespace ptrace_prof
