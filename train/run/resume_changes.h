#ifndef TESSERA_TRAIN_RUN_RESUME_CHANGES_H_
#define TESSERA_TRAIN_RUN_RESUME_CHANGES_H_
// A run that goes on from a checkpoint under another configuration, or on other data: what cannot
// be meant is refused, the rest is said.
//
// Refused: other tables, or a table of other features, pooling, rows (but of a growing one), dim,
// types, optimizer, kind of managed collision, options by which it finds raw ids
// (train/checkpoint/raw_id_places.h) or, unless it grows, parts of raw ids; another model or dense
// optimizer; another split of rows for evaluation, or other data beside a split that goes by them
// (one by the last times, of which the checkpoint keeps the time that was found, does not); and
// within an epoch, of which the checkpoint counts rows, other data or another order of them.
// Said: any other key but those that say where tables lie, how they began, how long to train and
// which metrics to write; and other data between epochs.
#include <string>
#include <vector>

#include "data/files/data_identity.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/config_keys.h"

namespace tessera {

struct ResumedRun {
  std::string path;    // of the checkpoint
  std::string config;  // its own, as it keeps it; "": unknown
  TrainingProgress progress;
};

// "optimizer.dense.lr was 0.1, is 0.2": a sentence a change that is taken. Throws Error naming the
// checkpoint, the key and both values for one that is not. `other_data`: those of data are.
std::vector<std::string> ResumeChanges(const ResumedRun& saved, const TrainConfig& given,
                                       const DataIdentity& data, bool other_data);

// "the ranks were in 2 sharding groups of 2, averaged every step, are in no sharding groups"; ""
// where that is the same. Groups change results, as each averages its own part of a batch.
std::string GroupsChange(const TrainingProgress& saved, const std::string& groups);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_RESUME_CHANGES_H_
