#ifndef TESSERA_DATA_FILES_BAG_FOLDER_H_
#define TESSERA_DATA_FILES_BAG_FOLDER_H_
// Rows of any schema that are ready for a model, in a folder of shards, mapped to be read: version
// 2 of a row folder. `tessera preprocess --config` writes it (data/preprocess/bag_folder_writer.h).
//
//   rows-00000.safetensors, …   tensors of n rows; shards follow each other:
//     dense          [n, D] f32      labels [n, L] f32, NaN where a row has no such label
//     weight, time   [n] f32, i64    of the rows, where the schema names their columns
//     ids/NAME       [N] i32 or i64  of feature NAME: rows of its table, or raw ids
//     offsets/NAME   [n + 1] i32     row r has ids [offsets[r], offsets[r + 1]); not there where
//                                    each row has one id
//     weights/NAME   [N] f32         of the ids, where the feature has weights
//   index.json                  as row_folder_index.h, with "features": [{"name", "rows"}, …] and
//                               "schema": how rows were read, an entry for each feature
//
// A feature's rows: what ids were taken modulo, 0 where they are raw.
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/files/stored_bags.h"
#include "data/schema/data_schema.h"

namespace tessera {

// Names of tensors.
namespace bag_folder {
inline constexpr char kDense[] = "dense", kLabels[] = "labels", kWeight[] = "weight",
                      kTime[] = "time", kIds[] = "ids/", kOffsets[] = "offsets/",
                      kWeights[] = "weights/";
}  // namespace bag_folder

// The rows of the folders, in the order given, as the schema and the tables that read the features
// ask for them. Throws Error, naming folder or file, for rows that were read otherwise, and for
// shards that do not fit the index; Gather throws for offsets and bytes that are not what they
// should be.
StoredBags MapBagFolders(const std::vector<std::string>& folders, const DataSchema& schema,
                         const std::vector<CategoricalFeature>& features);

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_BAG_FOLDER_H_
