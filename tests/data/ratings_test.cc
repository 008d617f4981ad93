#include "data/files/ratings.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::WriteFile;
using testing::WriteGzFile;

const std::vector<Rating> kTwo = {{1, 1193, 5, 978300760}, {2, 661, 3.5, 978302109}};

TEST(Ratings, EveryLayoutIsRead) {
  EXPECT_EQ(ReadRatings({WriteFile("u.data", "1\t1193\t5\t978300760\n2\t661\t3.5\t978302109\n")}),
            kTwo);
  EXPECT_EQ(ReadRatings({WriteFile("r.dat", "1::1193::5::978300760\r\n2::661::3.5::978302109")}),
            kTwo);
  EXPECT_EQ(ReadRatings({WriteGzFile("r.csv.gz",
                                     "userId,movieId,rating,timestamp\n1,1193,5.0,978300760\n"
                                     "2,661,3.5,978302109\n")}),
            kTwo);
  EXPECT_EQ(ReadRatings({WriteFile("wide.tsv",
                                   "5\t1\t1193\tF\t1\t10\t48067\t1975\tDrama\n"
                                   "3.5\t2\t661\tM\t25\t1\tx\t1996\tA|B\n")}),
            (std::vector<Rating>{{1, 1193, 5}, {2, 661, 3.5}}));
}

TEST(Ratings, FilesFollowEachOther) {
  const std::string a = WriteFile("a.dat", "1::1193::5::978300760\n"),
                    b = WriteFile("b.csv",
                                  "userId,movieId,rating,timestamp\n2,661,3.5,978302109\n");
  EXPECT_EQ(ReadRatings({a, b}), kTwo);
}

TEST(Ratings, BadLinesAreErrorsWithFileAndLine) {
  for (const char* bad : {"1::2::3", "1::2::3::4::5", "x::2::3::4", "1::2::6::4", "-1::2::3::4",
                          "1::2::3::-4", "1::2::nan::4", ""}) {
    const std::string path = WriteFile("bad.dat", std::string("1::2::3::4\n") + bad + "\n");
    EXPECT_EQ(ErrorOf([&] { ReadRatings({path}); }),
              path + ":2: expected user::item::rating::time, with a rating from 0 to 5, got '" +
                  bad + "'");
  }
}

TEST(RatingRows, AreFeaturesAndALabel) {
  Context ctx({.threads = 1});
  const RatingRows rows(kTwo, {{"movieId", 1000}, {"userId", 10}}, 4);
  const Batch batch = rows.Gather(ctx, std::vector<int64_t>{1, 0, 0});
  EXPECT_EQ(batch.dense.shape(), (Shape{3, 1}));
  EXPECT_EQ(batch.features.values().ToVector<int64_t>(),
            (std::vector<int64_t>{661, 193, 193, 2, 1, 1}));
  EXPECT_EQ(batch.labels.ToVector<float>(), (std::vector<float>{0, 1, 1}));
  const RatingRows as_they_are(kTwo, {{"userId", 10}}, 0);
  EXPECT_EQ(as_they_are.Gather(ctx, std::vector<int64_t>{1}).labels.ToVector<float>(),
            std::vector<float>{3.5});
  EXPECT_EQ(ErrorOf([&] {
              RatingRows(kTwo, {{"cat_0", 10}}, 0);
            }),
            "feature 'cat_0': ratings have userId and movieId");
}

TEST(RatingRows, IdsBeyondATableAreCounted) {
  Context ctx({.threads = 1});
  const RatingRows rows(kTwo, {{"movieId", 1000}, {"userId", 2}}, 4);
  const auto items = rows.Gather(ctx, std::vector<int64_t>{1, 0, 0}).items;
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(std::pair(items[0].items, items[0].unknown), std::pair(int64_t{3}, int64_t{2}));
  EXPECT_EQ(items[1].unknown, 1);  // user 2, of two rows
  const RatingRows raw(kTwo, {{"movieId", 0, true}}, 4);
  EXPECT_EQ(raw.Gather(ctx, std::vector<int64_t>{1}).items.at(0).unknown, 0);
}

TEST(RatingRows, HaveTimesWhereAllOfThemDo) {
  Context ctx({.threads = 1});
  const std::vector<int64_t> both = {1, 0};
  EXPECT_EQ(RatingRows(kTwo, {{"userId", 10}}, 4).Gather(ctx, both).time.ToVector<int64_t>(),
            (std::vector<int64_t>{978302109, 978300760}));
  std::vector<Rating> without = kTwo;
  without[1].time = Rating::kNoTime;
  EXPECT_FALSE(RatingRows(without, {{"userId", 10}}, 4).Gather(ctx, both).time);
}

}  // namespace
}  // namespace tessera
