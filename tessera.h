#ifndef TESSERA_TESSERA_H_
#define TESSERA_TESSERA_H_
#if __cplusplus < 202002L
#error "Tessera is C++20: compile with -std=c++20"
#endif
// Tessera: embedding tables for recommenders, without PyTorch. Include this one.
//
//   start here    Context (runtime/context.h), Tensor (runtime/tensor.h),
//                 Variable and Tape (runtime/autograd.h)
//   batches       KeyedJaggedTensor, JaggedTensor, KeyedTensor (sparse/)
//   tables        EmbeddingBagCollection, EmbeddingCollection (embedding/)
//   raw ids       ManagedCollisionEmbeddingBagCollection, MCHManagedCollisionModule, …
//                 (embedding/managed_collision/)
//   pruning       ITEPEmbeddingBagCollection (embedding/itep/)
//   pools         TensorPool, KeyedJaggedTensorPool (embedding/pools/)
//   optimizers    Sgd, Adagrad, RowwiseAdagrad, Adam, … (optim/rules/);
//                 your own: MakeCustomRule (embedding/custom_rule.h);
//                 round them: FusedOptimizer, CombinedOptimizer, WarmupOptimizer, …
//   saving        SaveCheckpoint, LoadCheckpoint (train/checkpoint/model_checkpoint.h)
//   ranks         ShardingPlan, ShardedEmbeddingBagCollection, Communicator (sharding/, comm/)
//   a plan        EmbeddingShardingPlanner, Topology (planner/)
//   models        Mlp, CrossNet, DotInteraction, Dlrm, RankingModel, TwoTower,
//                 EmbeddingTower (models/)
//   pipelines     TrainPipelineSparseDist, … (train/pipeline/train_pipeline.h)
//   stored rows   quant::EmbeddingBagCollection, quant::Quantize (embedding/quantized/)
//   serving       serve::WriteModel, serve::Predictor, serve::RequestQueue (serve/)
#include "comm/communicator.h"
#include "comm/leader.h"
#include "comm/local_communicator.h"
#include "embedding/custom_rule.h"
#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "embedding/feature_processed_embedding_bag_collection.h"
#include "embedding/fused_optimizer.h"
#include "embedding/itep/itep_embedding.h"
#include "embedding/lookup/bounds_check.h"
#include "embedding/lookup/index_remap.h"
#include "embedding/lookup/lookup.h"
#include "embedding/lookup/prune_rows.h"
#include "embedding/lookup/row_access.h"
#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "embedding/managed_collision/managed_collision_embedding.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "embedding/pools/keyed_jagged_tensor_pool.h"
#include "embedding/pools/tensor_pool.h"
#include "embedding/position_weighted.h"
#include "embedding/quantized/embedding_bag_collection.h"
#include "embedding/quantized/embedding_collection.h"
#include "embedding/quantized/feature_processed_embedding_bag_collection.h"
#include "embedding/quantized/quantize_tables.h"
#include "embedding/table/optimizer_state.h"
#include "embedding/table/row_init.h"
#include "embedding/table_batched_embedding.h"
#include "embedding/update/update.h"
#include "models/dlrm.h"
#include "models/embedding_tower.h"
#include "models/layers/mlp.h"
#include "models/sharded_embedding_tower_collection.h"
#include "models/two_tower.h"
#include "optim/any_rule.h"
#include "optim/combined_optimizer.h"
#include "optim/dense_optimizer.h"
#include "optim/gradient_clipping_optimizer.h"
#include "optim/optimizer.h"
#include "optim/warmup_optimizer.h"
#include "planner/model/shipped_topologies.h"
#include "planner/plan_conversion.h"
#include "planner/planner.h"
#include "planner/stats.h"
#include "quant/row_codec.h"
#include "quant/wire_codec.h"
#include "runtime/autograd.h"
#include "runtime/context.h"
#include "runtime/files/safetensors.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/loss.h"
#include "runtime/ops/norm.h"
#include "runtime/ops/shaping.h"
#include "runtime/ops/similarity.h"
#include "runtime/tensor.h"
#include "runtime/tensor_text.h"
#include "serve/export/model_writer.h"
#include "serve/predictor.h"
#include "serve/request_queue.h"
#include "sharding/distributed_model_parallel.h"
#include "sharding/itep/sharded_itep_embedding.h"
#include "sharding/plan/plan.h"
#include "sharding/plan/plan_json.h"
#include "sharding/plan/plan_makers.h"
#include "sharding/plan/torchrec_plan.h"
#include "sharding/pools/sharded_keyed_jagged_tensor_pool.h"
#include "sharding/pools/sharded_tensor_pool.h"
#include "sharding/quantized/sharded_quant_embedding_bag_collection.h"
#include "sharding/quantized/sharded_quant_embedding_collection.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "sharding/sharded_embedding_collection.h"
#include "sharding/sharded_fused_optimizer.h"
#include "sharding/table_checkpoint.h"
#include "sparse/jagged_tensor.h"
#include "sparse/keyed_jagged_tensor.h"
#include "sparse/keyed_tensor.h"
#include "train/auto_shard.h"
#include "train/checkpoint/model_checkpoint.h"
#include "train/pipeline/train_pipeline.h"
#endif  // TESSERA_TESSERA_H_
