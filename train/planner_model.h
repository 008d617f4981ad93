#ifndef TESSERA_TRAIN_PLANNER_MODEL_H_
#define TESSERA_TRAIN_PLANNER_MODEL_H_
// A ranking model as the planner sees it: one module of pooled tables, and a dense part of so many
// bytes.
#include "models/ranking_model.h"
#include "planner/model/model.h"
#include "planner/model/topology.h"
#include "train/config/train_config.h"

namespace tessera {

// Returns the planner's view of a model on `ranks` ranks, each of which takes batches of batch_size
// examples. Every feature is taken to have one id an example. Tables of raw ids may be table_wise,
// and row_wise where each rank has as many of their parts as every other. Tables stay where their
// configuration has them, as far as ranks of this kind of device tell it apart.
PlannerModel PlannerModelOf(const RankingModelConfig& config, int64_t batch_size, int ranks,
                            ComputeDevice device);

// For `ranks` ranks, each of which takes its share of every batch. Every feature has one id an
// example, as the data of all formats have.
PlannerModel PlannerModelOf(const TrainConfig& config, int ranks, ComputeDevice device);

}  // namespace tessera
#endif  // TESSERA_TRAIN_PLANNER_MODEL_H_
