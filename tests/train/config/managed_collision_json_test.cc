// The "managed_collision" of a configuration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/train/testing/files.h"
#include "train/config/train_config.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;

// `own` and `of_all`: keys of the first of two tables, and of the document.
TrainConfig Parse(const std::string& own, const std::string& of_all = "",
                  const std::string& data = R"({"format": "criteo"})") {
  return ParseTrainConfig(R"({"tables": [
      {"name": "a", "rows": 20, "dim": 4, "features": ["cat_0", "cat_1"])" +
                              own + R"(},
      {"name": "b", "rows": 30, "dim": 4, "features": ["cat_2"]}],)" +
                              of_all + R"(
    "model": {"type": "dlrm", "dense_arch": [4], "over_arch": [8, 1]},
    "optimizer": {"sparse": {"name": "sgd", "lr": 1}, "dense": {"name": "sgd", "lr": 1}},
    "data": )" + data + "}",
                          "x.json");
}

std::string Own(const std::string& value) { return R"(, "managed_collision": )" + value; }
std::string OfAll(const std::string& value) { return R"("managed_collision": )" + value + ","; }

const char* const kKinds[] = {
    R"({"kind": "growing", "eviction": "DISTANCE_LFU", "admit_after": 3, "sketch_bytes": 4096,
        "shared_rows": 3})",
    R"({"kind": "mch", "eviction": "LRU", "decay_exponent": 0.5, "admission":
        {"kind": "dynamic", "skew_multiplier": 4}, "eviction_interval": 5, "input_hash_size": 100,
        "mch_size": 7})",
    R"({"kind": "mch", "admission": {"kind": "probabilistic", "per_id_probability": 0.25}})",
    R"({"kind": "mch", "eviction": "LFU", "admission": {"kind": "average"}})",
    R"({"kind": "hash_zch", "eviction": "PER_FEATURE_TTL_EVICTION", "per_feature_ttl": [3, 4],
        "clock": "HOURS", "total_num_buckets": 2, "max_probe": 9, "input_hash_size": 1000,
        "opt_in_prob": 60, "percent_reserved_slots": 20, "disable_fallback": true})",
    R"({"kind": "hash_zch", "eviction": "LRU_EVICTION", "single_ttl": 2})",
    R"({"kind": "growing", "num_parts": 5})"};

TEST(ManagedCollisionJson, EveryKindRoundTrips) {
  for (const char* kind : kKinds) {
    const TrainConfig config = Parse(Own(kind));
    ASSERT_EQ(config.managed_collision.size(), 1u) << kind;
    const std::string json = ToJson(config);
    EXPECT_EQ(ToJson(ParseTrainConfig(json, "again")), json);
  }
  EXPECT_EQ(std::get<GrowingIndexOptions>(Parse(Own(kKinds[0])).managed_collision.at("a").module)
                .shared_rows,
            3);
  const auto mch = std::get<MchConfig>(Parse(Own(kKinds[1])).managed_collision.at("a").module);
  EXPECT_EQ(mch.eviction, MchEviction::kLru);
  EXPECT_EQ(mch.decay_exponent, 0.5);
  EXPECT_EQ(mch.admission.skew_multiplier, 4);
  EXPECT_EQ(mch.mch_size, 7);
  EXPECT_EQ(Parse(Own(kKinds[1])).managed_collision.at("a").num_parts, 0);
  EXPECT_EQ(Parse(Own(kKinds[6])).managed_collision.at("a").num_parts, 5);
  const auto zch = std::get<HashZchOptions>(Parse(Own(kKinds[4])).managed_collision.at("a").module);
  EXPECT_EQ(zch.per_feature_ttl, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(zch.clock, HashZchClock::kHours);
  EXPECT_EQ(zch.opt_in_prob, 60);
}

TEST(ManagedCollisionJson, TheDocumentsIsThatOfTablesWithoutTheirOwn) {
  const std::string growing = OfAll(R"({"kind": "growing", "admit_after": 2})");
  const TrainConfig all = Parse("", growing);
  for (const char* table : {"a", "b"})
    EXPECT_EQ(std::get<GrowingIndexOptions>(all.managed_collision.at(table).module).admit_after, 2);
  for (const CategoricalFeature& feature : Features(all)) EXPECT_TRUE(feature.raw);
  const TrainConfig but_one = Parse(Own("null"), growing);
  EXPECT_FALSE(but_one.managed_collision.contains("a"));
  EXPECT_TRUE(but_one.managed_collision.contains("b"));
  EXPECT_FALSE(Features(but_one)[0].raw);
  EXPECT_TRUE(Features(but_one)[2].raw);
}

TEST(ManagedCollisionJson, ModulesAreMadeOfIt) {
  Context ctx;
  for (const char* kind : kKinds) {
    const TrainConfig config = Parse(Own(kind));
    const auto module =
        MakeManagedCollisionModule(ctx, config.managed_collision.at("a").module, config.tables[0]);
    EXPECT_EQ(module->output_size(), 20) << kind;
  }
}

TEST(ManagedCollisionJson, MistakesAreErrorsThatSayWhere) {
  const auto error = [](const std::string& own) { return ErrorOf([&] { Parse(Own(own)); }); };
  const std::string where = "x.json: tables[0].managed_collision";
  EXPECT_EQ(error(R"({"kind": "shrinking"})"),
            where + R"(.kind: expected "growing" or "mch" or "hash_zch", got "shrinking")");
  EXPECT_THAT(error(R"({"kind": "growing", "max_probe": 3})"), HasSubstr(where));
  EXPECT_EQ(error(R"({"kind": "growing", "admit_after": 256})"),
            where + ".admit_after: expected 1 to 255, got 256");
  EXPECT_EQ(error(R"({"kind": "hash_zch", "opt_in_prob": 0})"),
            where + ".opt_in_prob: expected -1, or 1 to 100, got 0");
  EXPECT_THAT(error(R"({"kind": "growing", "eviction": "lru"})"),
              HasSubstr(R"(.eviction: expected "LRU" or "LFU" or "DISTANCE_LFU")"));
  EXPECT_EQ(error(R"({"kind": "mch", "mch_size": 19})"),
            where + ": expected 21 rows or more, got 20");
  EXPECT_THAT(error(R"({"kind": "mch", "mch_size": 9223372036854775807})"),
              HasSubstr(where + ".mch_size: expected 0 to "));
  EXPECT_THAT(error(R"({"kind": "mch", "mch_size": 9223372036854775805, "num_parts": 2})"),
              HasSubstr("rows or more in each part, got 10"));
  EXPECT_EQ(error(R"({"kind": "growing", "shared_rows": 20})"),
            where + ": expected 21 rows or more, got 20");
  EXPECT_EQ(error(R"({"kind": "growing", "num_parts": 3})"),
            where + ".num_parts: expected a divisor of the 20 rows, got 3");
  EXPECT_EQ(error(R"({"kind": "growing", "num_parts": 20})"),
            where + ": expected 2 rows or more in each part, got 1");
  EXPECT_EQ(error(R"({"kind": "mch", "eviction_interval": 0})"),
            where + ".eviction_interval: expected 1 to 1000000000, got 0");
  EXPECT_THAT(error(R"({"kind": "mch", "admission": {"kind": "average", "skew_multiplier": 2}})"),
              HasSubstr(where + ".admission"));
  EXPECT_EQ(error(R"({"kind": "hash_zch", "eviction": "PER_FEATURE_TTL_EVICTION",
                      "per_feature_ttl": [1]})"),
            where + ".per_feature_ttl: expected a number for each of 2 features, got 1");
  const std::string zch = where + ": hash ZCH a: ";
  EXPECT_THAT(error(R"({"kind": "hash_zch", "total_num_buckets": 7})"),
              HasSubstr(zch + "20 rows (zch_size) are not a multiple of total_num_buckets 7"));
  EXPECT_THAT(error(R"({"kind": "hash_zch", "total_num_buckets": 4, "num_parts": 2})"),
              HasSubstr(where + ": in each part: hash ZCH a: 10 rows (zch_size) are not a multiple "
                                "of total_num_buckets 4"));
  EXPECT_THAT(error(R"({"kind": "hash_zch", "eviction": "SINGLE_TTL_EVICTION"})"),
              HasSubstr(zch + "SINGLE_TTL_EVICTION needs a single_ttl of 1 or more, got 0"));
  EXPECT_THAT(error(R"({"kind": "hash_zch", "eviction": "LRU_EVICTION", "opt_in_prob": 50})"),
              HasSubstr(zch + "LRU_EVICTION does not go with opt_in_prob 50; expected another "
                              "eviction, or no opt_in_prob"));
  EXPECT_THAT(error(R"({"kind": "hash_zch", "opt_in_prob": 50})"),
              HasSubstr(zch + "percent_reserved_slots 0 of a bucket's 20 slots are 0 reserved"));
  EXPECT_THAT(error(R"({"kind": "growing", "sketch_bytes": 1099511627777})"),
              HasSubstr(where + ": growing index a: sketch_bytes 1099511627777; expected 0 to"));
  EXPECT_THAT(ErrorOf([] {
                Parse("", OfAll(R"({"kind": "growing"})"), R"({"format": "random", "rows": 9})");
              }),
              HasSubstr("random data has no raw ids"));
}

}  // namespace
}  // namespace tessera
