#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "planner/model/model_json.h"
#include "planner/model/planner_error.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;

constexpr char kModel[] = R"({
  "tessera_planner_model": 1, "batch_size": 64,
  "modules": [{"path": "sparse.ebc", "kind": "ebc", "is_weighted": true,
               "tables": [{"name": "t0", "rows": 100, "dim": 16, "dtype": "fp16",
                           "features": ["a", "b"], "optimizer": "adam"}]},
              {"path": "sparse.q", "kind": "quant_ec",
               "tables": [{"name": "t1", "rows": 10, "dim": 8, "dtype": "int8",
                           "kept_bytes": [8, 4],
                           "stored_shape": [10, 16], "stored_element_bytes": 1}]}],
  "constraints": {"t0": {"pooling_factors": [2, 0.5], "num_poolings": [1, 2],
                         "batch_sizes": [64, 32], "sharding_types": ["row_wise"],
                         "compute_kernels": ["fused", "key_value"], "min_partition": 8,
                         "output_dtype": "bf16", "device_group": "cuda",
                         "cache_params": {"load_factor": 0.25, "bytes": 5, "ways": 8,
                                          "always": true, "num_passes": 3,
                                          "stats": {"cacheability": 0.5, "expected_lookups": 9,
                                                    "hist": [1, 2], "height": 100}},
                         "key_value_params": {"max_l1_cache_size": 4}}},
  "sharders": {"ebc": {"fused_params": {"cache_load_factor": 0.1, "prefetch_pipeline": true},
                       "comm_bytes": {"pooled_all_to_all": [2, 1]}}},
  "estimator": {"is_inference": false, "pipeline_type": "train_sparse_dist"},
  "dense_parameter_bytes": 1000, "dense_buffer_bytes": 10})";

std::string ErrorOf(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  try {
    PlannerModelFromJson(text, "tables.json");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ModelTest, IsReadAndWritten) {
  const PlannerModel m = PlannerModelFromJson(kModel, "f");
  ASSERT_EQ(m.tables.size(), 2u);
  EXPECT_EQ(m.full_name(m.tables[0]), "sparse.ebc.t0");
  EXPECT_EQ(m.tables[1].planned_dim(), 16);
  EXPECT_EQ(m.tables[1].element_bytes(), 1);
  const TableConstraints& c = m.constraints_of(m.tables[0]);
  EXPECT_EQ(c.compute_kernels, (std::vector{PlanKernel::kFused, PlanKernel::kKeyValue}));
  EXPECT_EQ(c.cache_params->statistics->histogram, (std::vector<double>{1, 2}));
  EXPECT_EQ(m.cache_config(m.tables[0]).ways, 8);
  EXPECT_EQ(m.cache_config(m.tables[0]).bytes, 5);
  EXPECT_TRUE(IsWeighted(m, m.tables[0]));
  EXPECT_FALSE(IsWeighted(m, m.tables[1]));
  EXPECT_EQ(m.tables[1].kept_bytes, (KeptBytes{8, 4}));
  const std::string written = PlannerModelToJson(m);
  EXPECT_EQ(PlannerModelToJson(PlannerModelFromJson(written, "f")), written);
}

TEST(ModelTest, LoadCountsIdsAndOutputs) {
  const PlannerModel m = PlannerModelFromJson(kModel, "f");
  const TableLoad load = LoadOf(m, m.tables[0]);
  EXPECT_DOUBLE_EQ(load.ids, 2 * 64 + 0.5 * 2 * 32);
  EXPECT_DOUBLE_EQ(load.outputs, 64 + 0.5 * 2 * 32);
  EXPECT_DOUBLE_EQ(LoadOf(m, m.tables[1]).ids, 64);
}

TEST(ModelTest, ErrorsNameFileAndField) {
  EXPECT_THAT(ErrorOf(kModel, "\"rows\": 100", "\"rows\": 0"),
              HasSubstr("table t0: expected rows"));
  EXPECT_THAT(ErrorOf(kModel, "[8, 4]", "[8]"),
              HasSubstr("modules[1].tables[0].kept_bytes: expected [of a column, of a row]"));
  EXPECT_THAT(ErrorOf(kModel, "[8, 4]", "[-8, 4]"), HasSubstr("table t1: kept_bytes: expected 0"));
  EXPECT_THAT(ErrorOf(kModel, "\"rows\": 100", "\"row\": 1"),
              HasSubstr("modules[0].tables[0].rows: the key is missing"));
  EXPECT_THAT(ErrorOf(kModel, "\"t0\", \"rows\"", "\"t9\", \"rows\""),
              HasSubstr("constraints: there is no table t0"));
  EXPECT_THAT(ErrorOf(kModel, "row_wise", "rowwise"),
              HasSubstr("constraints.t0.sharding_types[0]: sharding type 'rowwise'"));
  EXPECT_THAT(ErrorOf(kModel, "\"quant_ec\"", "\"quant\""), HasSubstr("modules[1].kind"));
  EXPECT_THAT(ErrorOf(kModel, "\"pooling_factors\": [2, ", "\"pooling_factors\": [-2, "),
              HasSubstr("table t0: pooling_factors: expected 0 to"));
  EXPECT_THAT(ErrorOf(kModel, "\"rows\": 100", "\"rows\": 9000000000000000"),
              HasSubstr("table t0: rows: expected at most 281474976710656"));
}

TEST(ModelTest, FeatureListsMustAgree) {
  PlannerModel m = PlannerModelFromJson(kModel, "f");
  m.constraints["t0"].batch_sizes = {64};
  try {
    LoadOf(m, m.tables[0]);
    FAIL();
  } catch (const PlannerError& error) {
    EXPECT_EQ(error.kind(), PlannerErrorKind::kFeatureListLengths);
    EXPECT_THAT(error.what(), HasSubstr("table t0"));
    EXPECT_THAT(error.what(), HasSubstr("2 pooling_factors and 1 batch_sizes"));
  }
}

}  // namespace
}  // namespace tessera
