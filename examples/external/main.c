/* The same prediction from C: main MODEL. */
#include <stdio.h>
#include <stdlib.h>

#include "tessera/serve/tessera_c.h"

int main(int argc, char** argv) {
  tessera_predictor* predictor = tessera_c_create(/*threads=*/1);
  if (argc < 2 || predictor == NULL || tessera_c_load(predictor, argv[1]) != 0) {
    fprintf(stderr, "usage: main MODEL %s\n", tessera_c_last_error());
    return 1;
  }
  const int64_t features = tessera_c_num_features(predictor);
  float* dense = calloc((size_t)tessera_c_dense_size(predictor), sizeof *dense);
  int64_t* ids = calloc((size_t)features, sizeof *ids);
  int64_t* lengths = calloc((size_t)features, sizeof *lengths);
  for (int64_t f = 0; f < features; ++f) lengths[f] = 1;
  float score = 0;
  const int failed = tessera_c_predict(predictor, 1, dense, lengths, ids, &score);
  if (failed)
    fprintf(stderr, "%s\n", tessera_c_last_error());
  else
    printf("score: %.4f\n", (double)score);
  free(dense);
  free(ids);
  free(lengths);
  tessera_c_destroy(predictor);
  return failed ? 1 : 0;
}
