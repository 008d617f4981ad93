#ifndef TESSERA_TRAIN_RUN_EVALUATED_ROWS_H_
#define TESSERA_TRAIN_RUN_EVALUATED_ROWS_H_
// Which rows a training is evaluated on, as a checkpoint remembers them: values of one metric on
// other rows cannot be compared.
#include <string>

#include "train/data_sets.h"

namespace tessera {

struct EvaluatedRows {
  std::string data;   // data/files/data_identity.h
  std::string split;  // by which rows are for evaluation; "": none

  // Whether both are the same rows, of files that may have other names.
  bool SameContent(const EvaluatedRows& other) const;
  friend bool operator==(const EvaluatedRows&, const EvaluatedRows&) = default;
};
// REQUIRES: there are rows for evaluation.
EvaluatedRows EvaluatedRowsOf(const DataSets& data);

// "there are no rows for evaluation", with the split that keeps none.
std::string NoRowsText(const DataSets& data);

// "evaluation rows were 60000:64000, are 56000:60000"; with files, or splits, where these differ.
std::string ChangeText(const EvaluatedRows& was, const EvaluatedRows& is);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_EVALUATED_ROWS_H_
