#ifndef TESSERA_DATA_FILES_MULTI_HOT_ROWS_H_
#define TESSERA_DATA_FILES_MULTI_HOT_ROWS_H_
// Rows in MLPerf's files for DLRM-DCNv2, mapped: days that follow each other, each of
//
//   NAME_dense.npy              [n, D]
//   NAME_labels.npy             [n] or [n, T]
//   NAME_sparse_multi_hot.npz   an array of i32 or i64 [n] or [n, hot] a feature: array "3" is the
//                               feature cat_3, any other name is the feature's own
//
// An id becomes id mod rows of its table, not negative; raw ids stay as they are.
#include <optional>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/files/stored_bags.h"
#include "data/schema/data_schema.h"

namespace tessera {

// The name of a day, from the name itself or that of one of its files; nullopt where there is
// no archive of that name. Throws Error where some files of a day are there, but not all.
std::optional<std::string> FindMultiHotDay(const std::string& path);
// The files of a day.
std::vector<std::string> MultiHotFiles(const std::string& day);
// The days that paths name, each once, in their order. Throws Error for a path that names none.
std::vector<std::string> MultiHotDays(const std::vector<std::string>& paths);

// The rows of the days. Throws Error, naming the file, for arrays that do not fit together, the
// features, or the lists of the schema (where it has "dense" or "labels").
StoredBags MapMultiHotDays(const std::vector<std::string>& days, const DataSchema& schema,
                           const std::vector<CategoricalFeature>& features);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_MULTI_HOT_ROWS_H_
