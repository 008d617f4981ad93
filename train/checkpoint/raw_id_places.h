#ifndef TESSERA_TRAIN_CHECKPOINT_RAW_ID_PLACES_H_
#define TESSERA_TRAIN_CHECKPOINT_RAW_ID_PLACES_H_
// Options of managed collision by which saved ids are found again in their rows.
#include <string>

#include "train/config/train_config.h"

namespace tessera {

// Throws Error, naming the checkpoint `path`, the table, the key and both values, for a table whose
// raw ids `given` would look for in other rows than those in which `saved` left them: another
// total_num_buckets, max_probe or percent_reserved_slots of hash_zch, another input_hash_size.
void CheckFindsRawIds(const std::string& path, const TrainConfig& saved, const TrainConfig& given);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_RAW_ID_PLACES_H_
