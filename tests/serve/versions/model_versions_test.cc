#include "serve/versions/model_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "serve/export/delta_writer.h"
#include "serve/versions/retry_pauses.h"
#include "tests/serve/testing/small_model.h"
#include "tests/serve/versions/testing/version_folder.h"

namespace tessera::serve {
namespace {

using tessera::testing::AddVersion;
using tessera::testing::ErrorOf;
using tessera::testing::MakeSmallModel;
using tessera::testing::SmallModel;
using tessera::testing::TempPath;
using tessera::testing::WriteSmallModel;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

class ModelVersionsTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    first_ = new SmallModel(MakeSmallModel("first.safetensors", 3));
    second_ = new SmallModel(MakeSmallModel("second.safetensors", 4));
    ASSERT_NE(first_->scores, second_->scores);
  }
  static void TearDownTestSuite() {
    delete first_;
    delete second_;
  }
  // Versions 1 and 2.
  static std::string TwoVersions(const std::string& name) {
    AddVersion(*first_, name);
    return AddVersion(*second_, name);
  }
  // Makes a version one that cannot be loaded.
  static void Damage(const std::string& folder, int64_t number) {
    std::ofstream(Format("{}/{}/weights-{}.safetensors", folder, number, number)) << "none";
  }
  // The versions that a start serves where bad ones are passed over.
  static std::string Started(const std::string& folder, const std::string& policy) {
    return VersionsText(ModelVersions("m", folder, ParseVersionPolicy(policy), kLastGood));
  }
  static std::vector<float> Scores(const std::shared_ptr<Predictor>& predictor) {
    return predictor->Predict(first_->request);
  }

  static inline const PredictorOptions kLastGood = {.bad_deltas = BadDeltas::kServeLastGood};
  static inline SmallModel *first_ = nullptr, *second_ = nullptr;
};

TEST_F(ModelVersionsTest, AreServedSideBySide) {
  const std::string folder = TwoVersions("both");
  ModelVersions model("m", folder, ParseVersionPolicy("latest:2"), {});
  EXPECT_EQ(VersionsText(model), "1, 2");
  EXPECT_EQ(Scores(model.current()), second_->scores);
  EXPECT_EQ(Scores(model.Find("1")), first_->scores);
  EXPECT_EQ(Scores(model.Find("2")), second_->scores);
  for (const char* none : {"3", "0", "", "01", "x"}) EXPECT_EQ(model.Find(none), nullptr) << none;
  EXPECT_EQ(VersionsText(ModelVersions("m", folder, {}, {})), "2");
  EXPECT_EQ(VersionsText(ModelVersions("m", folder, ParseVersionPolicy("1"), {})), "1");
  EXPECT_THAT(ErrorOf([&] { ModelVersions("m", folder, ParseVersionPolicy("3"), {}); }),
              HasSubstr("both: there is no version 3, but 1, 2"));
}

TEST_F(ModelVersionsTest, ComeAndGoWithTheirFolders) {
  const std::string folder = TwoVersions("follow");
  ModelVersions model("m", folder, {}, {});
  EXPECT_FALSE(model.Follow());
  const std::shared_ptr<Predictor> asked = model.current();
  WithdrawAbove(folder, 1);
  EXPECT_TRUE(model.Follow());
  EXPECT_EQ(VersionsText(model), "1");
  EXPECT_EQ(Scores(model.current()), first_->scores);
  EXPECT_EQ(Scores(asked), second_->scores);  // who has it keeps it
  AddVersion(*second_, "follow");
  EXPECT_TRUE(model.Follow());
  EXPECT_EQ(VersionsText(model), "3");  // 2 is not used again
  EXPECT_EQ(model.load_counts().good, 2);
  std::filesystem::remove_all(folder + "/1");
  std::filesystem::rename(folder + "/3", folder + "/withdrawn-3");
  EXPECT_THAT(ErrorOf([&] { model.Follow(); }),
              HasSubstr("all versions in this folder are withdrawn (withdrawn-2, withdrawn-3)"));
  std::filesystem::remove_all(folder);
  EXPECT_THAT(ErrorOf([&] { model.Follow(); }),
              EndsWith("follow: no version is in this folder any more"));
  EXPECT_EQ(Scores(model.current()), second_->scores);
}

TEST_F(ModelVersionsTest, StayWhatTheyWereWhereTheNextIsBad) {
  const std::string folder = TwoVersions("bad");
  ModelVersions model("m", folder, ParseVersionPolicy("latest:2"), {});
  AddVersion(*first_, "bad");
  Damage(folder, 3);
  EXPECT_THAT(ErrorOf([&] { model.Follow(); }), HasSubstr("bad/3/"));
  EXPECT_EQ(model.load_counts().failed, 1);
  EXPECT_EQ(model.delta_counts().newest_version_seen, 3);
  EXPECT_EQ(VersionsText(model), "1, 2");
  std::filesystem::rename(folder + "/1", folder + "/4");  // a number that is not its own
  std::filesystem::remove_all(folder + "/3");
  EXPECT_THAT(ErrorOf([&] { model.Follow(); }),
              HasSubstr("bad/4: model.json says version 1: expected the number of its folder"));
  EXPECT_EQ(Scores(model.current()), second_->scores);
}

// The start's rule holds while it serves: the newest so many that can be loaded.
TEST_F(ModelVersionsTest, ABadOneAmongTheNewestKeepsNoGoodOneOut) {
  const std::string folder = TwoVersions("among");
  ModelVersions model("m", folder, ParseVersionPolicy("latest:2"), kLastGood);
  RetryPauses retries(std::chrono::hours(1));
  const auto follow = [&] { return model.Follow(retries, {}); };
  AddVersion(*first_, "among");
  AddVersion(*second_, "among");
  Damage(folder, 3);
  EXPECT_THAT(ErrorOf(follow), HasSubstr("version 3 cannot be loaded: "));
  EXPECT_EQ(VersionsText(model), "2, 4");
  EXPECT_EQ(model.load_counts().failed, 1);
  EXPECT_EQ(model.delta_counts().newest_version_seen, 4);
  ASSERT_EQ(model.bad_versions().size(), 1u);
  EXPECT_EQ(model.bad_versions()[0].number, 3);
  EXPECT_FALSE(follow());  // what changed by itself is no reason to try version 3 again
  EXPECT_EQ(model.load_counts().failed, 1);
  AddVersion(*first_, "among");
  Damage(folder, 5);
  EXPECT_THAT(ErrorOf([&] { model.Reload(); }),
              AllOf(HasSubstr("version 5 cannot be loaded: "), HasSubstr("; version 3 cannot be")));
  EXPECT_EQ(VersionsText(model), "2, 4");
  EXPECT_EQ(model.delta_counts().newest_version_seen, 5);
  WithdrawAbove(folder, 4);
  AddVersion(*first_, "among");
  EXPECT_TRUE(follow());
  EXPECT_EQ(VersionsText(model), "4, 6");
  EXPECT_TRUE(model.bad_versions().empty());
}

// The good ones of the versions that a policy names come back by themselves.
TEST_F(ModelVersionsTest, ABadNamedOneKeepsNoGoodOneOut) {
  const std::string folder = TwoVersions("named");
  AddVersion(*first_, "named");
  ModelVersions model("m", folder, ParseVersionPolicy("1,2,3"), kLastGood);
  WithdrawAbove(folder, 1);
  EXPECT_TRUE(model.Follow());
  EXPECT_EQ(VersionsText(model), "1");
  for (const char* number : {"2", "3"})
    std::filesystem::rename(folder + "/withdrawn-" + number, folder + "/" + number);
  Damage(folder, 3);
  EXPECT_THAT(ErrorOf([&] { model.Follow(); }), HasSubstr("version 3 cannot be loaded: "));
  EXPECT_EQ(VersionsText(model), "1, 2");
}

TEST_F(ModelVersionsTest, StartWithTheNewestThatCanBeLoaded) {
  const std::string folder = TwoVersions("start");
  AddVersion(*first_, "start");
  Damage(folder, 3);
  ModelVersions model("m", folder, {}, kLastGood);
  EXPECT_EQ(VersionsText(model), "2");
  EXPECT_EQ(Scores(model.current()), second_->scores);
  ASSERT_EQ(model.bad_versions().size(), 1u);
  EXPECT_EQ(model.bad_versions()[0].number, 3);
  EXPECT_THAT(model.bad_versions()[0].why, HasSubstr("start/3/weights-3.safetensors"));
  EXPECT_EQ(model.delta_counts().newest_version_seen, 3);
  EXPECT_THAT(ErrorOf([&] { model.Follow(); }), HasSubstr("start/3/"));  // and is tried again
  EXPECT_EQ(VersionsText(model), "2");
  EXPECT_EQ(Started(folder, "latest:2"), "1, 2");
  EXPECT_THAT(ErrorOf([&] { Started(folder, "2,3"); }), HasSubstr("start/3/"));  // it was named
  EXPECT_THAT(ErrorOf([&] { ModelVersions("m", folder, {}, {}); }), HasSubstr("start/3/"));
  WithdrawAbove(folder, 2);
  EXPECT_FALSE(model.Follow());
  EXPECT_EQ(model.delta_counts().newest_version_seen, 2);
  Damage(folder, 2);
  Damage(folder, 1);
  EXPECT_THAT(ErrorOf([&] { Started(folder, "latest"); }),
              AllOf(HasSubstr("start: no version can be loaded: version 2 cannot be loaded: "),
                    HasSubstr("; version 1 cannot be loaded: "), HasSubstr("; write the next one "),
                    HasSubstr("tessera rollback " + folder + " --to VERSION")));
}

TEST_F(ModelVersionsTest, TakeDeltasWithNumbersOfTheirOwn) {
  const std::string folder = TwoVersions("deltas");
  ModelVersions model("m", folder, ParseVersionPolicy("latest:2"), {});
  Context ctx({.threads = 1});
  const Checkpoint checkpoint = ReadCheckpoint(first_->checkpoint);
  ModelChain old(folder + "/1"), newest(folder);
  EXPECT_THAT(ErrorOf([&] { WriteDelta(ctx, checkpoint, {}, old); }),
              HasSubstr("its next delta would be version 2, a number that"));
  WriteDelta(ctx, checkpoint, {}, newest);
  EXPECT_TRUE(model.Follow());
  EXPECT_EQ(VersionsText(model), "1, 3");
  EXPECT_NE(model.Find("2"), nullptr);  // the folder's number, and the delta's
  EXPECT_EQ(model.Find("3"), model.Find("2"));
  EXPECT_EQ(model.Find("4"), nullptr);
  EXPECT_EQ(model.delta_counts().taken, 1);
  AddVersion(*second_, "deltas");
  EXPECT_TRUE(model.Follow());
  EXPECT_EQ(VersionsText(model), "3, 4");
  WithdrawAbove(folder, 2);
  EXPECT_TRUE(model.Follow());
  EXPECT_EQ(VersionsText(model), "1, 3");
  EXPECT_EQ(model.delta_counts().taken, 1);
}

// The clock of these stands still: what failed is not due again.
TEST_F(ModelVersionsTest, FollowChangesWhileABadVersionWaits) {
  const std::string folder = TwoVersions("waits");
  ModelVersions model("m", folder, {}, {});
  RetryPauses retries(std::chrono::hours(1));
  const auto follow = [&] { return model.Follow(retries, {}); };
  AddVersion(*first_, "waits");
  Damage(folder, 3);
  EXPECT_THAT(ErrorOf(follow), HasSubstr("waits/3/"));
  EXPECT_FALSE(follow());
  EXPECT_EQ(model.load_counts().failed, 1);
  Context ctx({.threads = 1});
  ModelChain second(folder + "/2");
  const std::string kept = TempPath("waits-3");
  std::filesystem::rename(folder + "/3", kept);
  WriteDelta(ctx, ReadCheckpoint(first_->checkpoint), {}, second);  // version 3 of folder 2
  std::filesystem::rename(kept, folder + "/4");
  EXPECT_THAT(ErrorOf(follow), HasSubstr("waits/4: "));  // a new name: it is tried again
  EXPECT_EQ(VersionsText(model), "3");                   // and the delta is taken
  EXPECT_FALSE(follow());
  AddVersion(*second_, "waits");
  EXPECT_TRUE(follow());
  EXPECT_EQ(VersionsText(model), "5");
  WithdrawAbove(folder, 4);
  EXPECT_THAT(ErrorOf(follow), HasSubstr("waits/4: "));
  EXPECT_FALSE(follow());
  WithdrawAbove(folder, 1);
  EXPECT_TRUE(follow());
  EXPECT_EQ(VersionsText(model), "1");
}

TEST_F(ModelVersionsTest, FollowChangesWhileABadDeltaWaits) {
  const std::string folder = TwoVersions("delta_waits");
  ModelVersions model("m", folder, ParseVersionPolicy("latest:2"), {});
  RetryPauses retries(std::chrono::hours(1));
  const auto follow = [&] { return model.Follow(retries, {}); };
  const std::string delta = folder + "/2/" + DeltaFileName(3);
  std::ofstream(delta) << "none";
  EXPECT_THAT(ErrorOf(follow), HasSubstr(DeltaFileName(3)));
  EXPECT_FALSE(follow());
  EXPECT_EQ(model.delta_counts().failed, 1);
  AddVersion(*first_, "delta_waits");
  EXPECT_TRUE(follow());
  EXPECT_EQ(VersionsText(model), "2, 4");
  EXPECT_EQ(model.delta_counts().failed, 1);  // the bad delta, unchanged, was not tried
  std::filesystem::remove(delta);
  Context ctx({.threads = 1});
  ModelChain second(NewestVersionOf(folder));
  WriteDelta(ctx, ReadCheckpoint(second_->checkpoint), {}, second);  // of version 4
  EXPECT_TRUE(follow());
  EXPECT_EQ(VersionsText(model), "2, 5");
}

TEST_F(ModelVersionsTest, AModelDirectoryIsOneVersion) {
  const std::string directory = WriteSmallModel(*first_, "one");
  ModelVersions model("m", directory, {}, {});
  EXPECT_EQ(VersionsText(model), "1");
  WriteSmallModel(*second_, "one");
  EXPECT_FALSE(model.Follow());  // a directory waits for a Reload
  model.Reload();
  EXPECT_EQ(VersionsText(model), "2");
  EXPECT_EQ(Scores(model.current()), second_->scores);
}

}  // namespace
}  // namespace tessera::serve
