#ifndef TESSERA_SERVE_WARM_UP_H_
#define TESSERA_SERVE_WARM_UP_H_
// Requests that a model answers before those of clients: first answers wait for memory, pages of
// the mapped file, code and threads, which later ones find in place. No metric counts them.
#include <cstdint>
#include <string>

#include "serve/predict_request.h"
#include "serve/served_model.h"

namespace tessera::serve {

struct WarmUp {
  int requests = 0;       // of one row each; after them comes one of many rows. 0: no warm-up
  int64_t max_batch = 1;  // rows of that one, at most ServedModel::kMaxTogether
  int calls = 1;          // that will run beside each other: each is warmed up
  // A file with a JSON object a line (raw_rows.h): the first is the one row, all are the many. "":
  // rows are made up, their ids spread evenly over all that the tables have.
  std::string rows_file = {};
};

struct WarmUpRequests {
  PredictRequest one, many;
};

// Throws Error for a file that cannot be read, and for rows that the model cannot take.
WarmUpRequests MakeWarmUpRequests(const WarmUp& warm_up, const ModelSpec& spec);

// Answers all of them once, on this thread. Throws what ServedModel::Predict does.
void RunWarmUp(const WarmUp& warm_up, const ServedModel& model);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_WARM_UP_H_
