#ifndef TESSERA_SERVE_TESSERA_C_H_
#define TESSERA_SERVE_TESSERA_C_H_
/* Prediction from C: a model directory of `tessera quantize`, loaded and called. libtessera_c.so
 * has these functions and exports nothing else.
 *
 * The ABI only grows: functions, structs and the meaning of their parts stay, and
 * tessera_c_abi_version tells which functions there are. No function throws or ends the process;
 * one that fails says so by its result, and tessera_c_last_error says why.
 */
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TESSERA_C_ABI_VERSION 6

/* That of the library, which may be newer than this header. */
int32_t tessera_c_abi_version(void);

/* What went wrong in the last call of this thread that failed, "" before. Valid until the thread's
 * next call. */
const char* tessera_c_last_error(void);

/* A model that any number of threads may call at the same time. */
typedef struct tessera_predictor tessera_predictor;

/* Without a model; `threads` (>= 1) work on each call. NULL on failure. */
tessera_predictor* tessera_c_create(int32_t threads);
/* NULL is fine. REQUIRES: no call is under way. */
void tessera_c_destroy(tessera_predictor* predictor);

/* Loads a model directory, instead of the model that was there: calls under way end with that one.
 * 0, or -1 on failure, and the model is then what it was. */
int32_t tessera_c_load(tessera_predictor* predictor, const char* directory);

/* Since ABI 2. Takes the deltas that lie in the directory by now (tessera export --delta). Returns
 * how many, or -1 on failure, and the model is then that of the last delta that fits. */
int64_t tessera_c_take_deltas(tessera_predictor* predictor);
/* Since ABI 2. The loaded model's version: 1 more with each delta. -1 on failure. */
int64_t tessera_c_model_version(const tessera_predictor* predictor);

/* Of the loaded model; -1 or NULL on failure. A name is valid until the next tessera_c_load
 * or tessera_c_take_deltas. */
int64_t tessera_c_dense_size(const tessera_predictor* predictor);
int64_t tessera_c_num_features(const tessera_predictor* predictor);
const char* tessera_c_feature_name(const tessera_predictor* predictor, int64_t feature);

/* Since ABI 5. How many answers the loaded model gives to an example, one a task, and their names;
 * "score" alone of a model without tasks. As above. */
int64_t tessera_c_num_outputs(const tessera_predictor* predictor);
const char* tessera_c_output_name(const tessera_predictor* predictor, int64_t output);

/* Click probabilities of `batch` examples, into scores[batch]. Fails for a model of several
 * outputs, whose scores would not fit: tessera_c_predict_checked takes those.
 *   dense    [batch][dense_size]
 *   lengths  [num_features][batch]: how many ids each example has, feature after feature
 *   ids      in the same order, as many as the lengths say
 * Returns 0, or -1 on failure, and the scores are then undefined. The sizes of the arrays are not
 * known here: a model that was loaded meanwhile may have other features. tessera_c_predict_checked
 * knows them. */
int32_t tessera_c_predict(tessera_predictor* predictor, int64_t batch, const float* dense,
                          const int64_t* lengths, const int64_t* ids, float* scores);

/* Arrays of tessera_c_predict, each with how many elements there are. */
typedef struct tessera_arrays {
  const float* dense;
  int64_t num_dense; /* batch * dense_size */
  const int64_t* lengths;
  int64_t num_lengths; /* num_features * batch */
  const int64_t* ids;
  int64_t num_ids; /* the sum of the lengths */
  float* scores;
  int64_t num_scores; /* batch * num_outputs: [batch][num_outputs] */
} tessera_arrays;

/* Since ABI 3. Like tessera_c_predict; fails, before anything is read or written, where a size is
 * not the one that the loaded model and the batch ask for. */
int32_t tessera_c_predict_checked(tessera_predictor* predictor, int64_t batch,
                                  const tessera_arrays* arrays);

/* Since ABI 4. The same of a weighted model: weights[i] is that of ids[i], num_weights as many as
 * num_ids. */
int32_t tessera_c_predict_weighted(tessera_predictor* predictor, int64_t batch,
                                   const tessera_arrays* arrays, const float* weights,
                                   int64_t num_weights);

/* Since ABI 6. The answers to raw rows: `lines` are num_bytes bytes of UTF-8, a JSON object a line,
 * as the format jsonl of tessera train takes them, without labels. Writes [rows][num_outputs] into
 * scores, which has room for num_scores. Returns the number of rows, or -1 on failure, also where
 * there is too little room; a bad line is named as "rows:LINE: …". */
int64_t tessera_c_predict_rows(tessera_predictor* predictor, const char* lines, int64_t num_bytes,
                               float* scores, int64_t num_scores);

#ifdef __cplusplus
}
#endif
#endif /* TESSERA_SERVE_TESSERA_C_H_ */
