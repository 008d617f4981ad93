#ifndef TESSERA_TESTS_TRAIN_TESTING_RAW_IDS_CONFIG_H_
#define TESSERA_TESTS_TRAIN_TESTING_RAW_IDS_CONFIG_H_
// Small trainings of tables that take raw ids.
#include <string>
#include <vector>

#include "tests/train/testing/small_run.h"

namespace tessera::testing {

// SmallConfig with few rows for 50 values a feature; table c reads row numbers.
inline TrainConfig RawIdsConfig(const ManagedCollisionConfig& managed, int64_t num_parts = 0) {
  TrainConfig config = SmallConfig();
  for (const size_t t : {0, 1}) {
    config.tables[t].num_embeddings = 12;
    config.managed_collision[config.tables[t].name] = {managed, num_parts};
  }
  return config;
}

struct RawIdKind {
  std::string name;
  ManagedCollisionConfig config;
};

inline std::vector<RawIdKind> RawIdKinds() {
  return {{"growing",
           GrowingIndexOptions{.score = MchEviction::kLfu, .admit_after = 2, .shared_rows = 2}},
          {"mch", MchConfig{.eviction = MchEviction::kLru,
                            .admission = {.kind = AdmissionKind::kProbabilistic,
                                          .per_id_probability = 0.5},
                            .eviction_interval = 3,
                            .mch_size = 4}},
          {"hash_zch", HashZchOptions{.max_probe = 8,
                                      .eviction = HashZchEviction::kSingleTtl,
                                      .single_ttl = 2,
                                      .clock = HashZchClock::kForwards}}};
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_TESTING_RAW_IDS_CONFIG_H_
