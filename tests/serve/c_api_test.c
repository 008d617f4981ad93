/* The C API from a C program: c_api_test DIRECTORY SCORE, a model of make_small_model and what it
 * says of the example below. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/tessera_c.h"

#define EXPECT(condition)                                                             \
  do {                                                                                \
    if (!(condition)) {                                                               \
      fprintf(stderr, "line %d: expected %s; last error: %s\n", __LINE__, #condition, \
              tessera_c_last_error());                                                \
      return 1;                                                                       \
    }                                                                                 \
  } while (0)

enum { kFeatures = 4, kDense = 13 };

static int FailsSaying(int32_t result, const char* what) {
  return result == -1 && strstr(tessera_c_last_error(), what) != NULL;
}

int main(int argc, char** argv) {
  EXPECT(argc == 3);
  const char* directory = argv[1];
  const float expected = (float)atof(argv[2]);
  const char* names[kFeatures] = {"cat_0", "cat_1", "cat_2", "cat_9"};
  float dense[2 * kDense], scores[2];
  const int64_t lengths[2 * kFeatures] = {1, 1, 1, 1, 1, 1, 1, 1};
  const int64_t ids[2 * kFeatures] = {1, 1, 2, 2, 3, 3, 0, 0};
  for (int i = 0; i < 2 * kDense; ++i) dense[i] = 0.5f;

  EXPECT(tessera_c_abi_version() == TESSERA_C_ABI_VERSION);
  EXPECT(strcmp(tessera_c_last_error(), "") == 0);
  EXPECT(tessera_c_create(0) == NULL && strstr(tessera_c_last_error(), "threads is 0") != NULL);
  tessera_predictor* predictor = tessera_c_create(1);
  EXPECT(predictor != NULL);
  EXPECT(FailsSaying(tessera_c_predict(predictor, 1, dense, lengths, ids, scores),
                     "no model is loaded"));
  EXPECT(tessera_c_take_deltas(predictor) == -1 && tessera_c_model_version(predictor) == -1);
  EXPECT(FailsSaying(tessera_c_load(predictor, "nowhere"), "nowhere/model.json"));
  EXPECT(FailsSaying(tessera_c_load(predictor, NULL), "directory is NULL"));
  EXPECT(FailsSaying(tessera_c_load(NULL, directory), "predictor is NULL"));

  for (int round = 0; round < 2; ++round) { /* the second one reloads */
    EXPECT(tessera_c_load(predictor, directory) == 0);
    EXPECT(tessera_c_take_deltas(predictor) == 0);
    EXPECT(tessera_c_model_version(predictor) == 1);
    EXPECT(tessera_c_dense_size(predictor) == kDense);
    EXPECT(tessera_c_num_features(predictor) == kFeatures);
    for (int f = 0; f < kFeatures; ++f)
      EXPECT(strcmp(tessera_c_feature_name(predictor, f), names[f]) == 0);
    EXPECT(tessera_c_feature_name(predictor, kFeatures) == NULL);
    scores[0] = scores[1] = -1;
    EXPECT(tessera_c_predict(predictor, 2, dense, lengths, ids, scores) == 0);
    EXPECT(fabsf(scores[0] - expected) < 1e-5f && fabsf(scores[1] - expected) < 1e-5f);
  }
  tessera_arrays arrays = {dense, 2 * kDense,    lengths, 2 * kFeatures,
                           ids,   2 * kFeatures, scores,  2};
  scores[0] = scores[1] = -1;
  EXPECT(tessera_c_predict_checked(predictor, 2, &arrays) == 0);
  EXPECT(fabsf(scores[0] - expected) < 1e-5f && fabsf(scores[1] - expected) < 1e-5f);
  EXPECT(FailsSaying(tessera_c_predict_checked(predictor, 1, &arrays),
                     "num_dense is 26; expected 13"));
  EXPECT(FailsSaying(tessera_c_predict_checked(predictor, -1, &arrays), "batch is -1"));
  EXPECT(FailsSaying(tessera_c_predict_checked(predictor, 2, NULL), "arrays is NULL"));
  arrays.num_ids = 7;
  EXPECT(FailsSaying(tessera_c_predict_checked(predictor, 2, &arrays), "num_ids is 7; expected 8"));
  arrays.num_lengths = 7;
  EXPECT(FailsSaying(tessera_c_predict_checked(predictor, 2, &arrays),
                     "num_lengths is 7; expected 8"));
  arrays.num_lengths = 8, arrays.num_ids = 8, arrays.num_scores = 1;
  EXPECT(
      FailsSaying(tessera_c_predict_checked(predictor, 2, &arrays), "num_scores is 1; expected 2"));
  arrays.num_scores = 2, arrays.lengths = NULL;
  EXPECT(FailsSaying(tessera_c_predict_checked(predictor, 2, &arrays), "lengths is NULL"));
  EXPECT(tessera_c_predict(predictor, 0, NULL, NULL, NULL, NULL) == 0);
  EXPECT(FailsSaying(tessera_c_predict(predictor, 1, NULL, lengths, ids, scores), "dense is NULL"));
  EXPECT(FailsSaying(tessera_c_predict(predictor, -1, dense, lengths, ids, scores), "batch is -1"));
  const int64_t negative[kFeatures] = {1, -1, 1, 1};
  EXPECT(FailsSaying(tessera_c_predict(predictor, 1, dense, negative, ids, scores),
                     "lengths[1] is -1"));
  tessera_c_destroy(predictor);
  tessera_c_destroy(NULL);
  return 0;
}
