#ifndef TESSERA_MODELS_RANKING_NET_CONFIG_H_
#define TESSERA_MODELS_RANKING_NET_CONFIG_H_
// The type, sizes and tasks of a ranking model, as plain data.
//
//   dlrm             dense_in, dense_arch, over_arch
//   dlrm_dcn         the same, dcn_layers, dcn_low_rank
//   dlrm_projection  the same as dlrm, branch1, branch2
//   deepfm           dense_in, hidden, deep_fm_dim
//   mmoe             dense_in, dense_arch, experts, expert_arch, tower_arch
//   ple              the same as mmoe, extraction_layers, task_experts
//   two_tower        query, candidate, tower_layers, temperature, normalize, sampling_correction
//
// Any of them may have tasks, and weighted or position_weights, and all but two_tower attention.
// Each may be without dense features: dense_in is then 0, and there is no dense_arch, or hidden.
// Two towers have none.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

enum class RankingModelType { kDlrm, kDlrmDcn, kDlrmProjection, kDeepFm, kMmoe, kPle, kTwoTower };
inline constexpr RankingModelType kRankingModelTypes[] = {
    RankingModelType::kDlrm,    RankingModelType::kDlrmDcn, RankingModelType::kDlrmProjection,
    RankingModelType::kDeepFm,  RankingModelType::kMmoe,    RankingModelType::kPle,
    RankingModelType::kTwoTower};
std::string ToString(RankingModelType type);  // "dlrm", "dlrm_dcn", …, as above

enum class TaskLoss { kBce, kMse, kInBatchSoftmax };
std::string ToString(TaskLoss loss);  // "bce", "mse", "in_batch_softmax"

// A label that a model learns to foresee, and how far its answer is from it.
struct TaskConfig {
  std::string name, label;
  // The loss of a logit against 0 to 1, or of the number itself; or, of two towers, the cross
  // entropy of choosing an example's candidate among those of all examples of the batch, which
  // needs no label ("").
  TaskLoss loss = TaskLoss::kBce;
  float weight = 1;        // of its loss in the sum over tasks
  std::string where = {};  // a label: only rows where it is above 0 count
  friend bool operator==(const TaskConfig&, const TaskConfig&) = default;
};

inline constexpr int64_t kMaxPositions = 4096;

// A feature whose bags are sequences, such as the items a user chose before, is pooled by how much
// each of its rows matters to the row of a target, such as the item at hand (attended_net.h).
struct SequenceAttention {
  std::string sequence, target;      // features, each of one table, of one dim
  int64_t max_length = 0;            // most ids of a bag
  std::vector<int64_t> layers = {};  // sizes of the hidden layers that score a row
  friend bool operator==(const SequenceAttention&, const SequenceAttention&) = default;
};

// In a softmax over the candidates of a batch, popular items are negatives more often than others.
// While training, each candidate's score is less by the log of how often it comes in a step
// (item_frequencies.h): the model then learns scores of items that are drawn alike.
struct SamplingCorrection {
  static constexpr int64_t kMaxSlots = int64_t{1} << 28;
  int64_t slots = 1 << 20;  // that hashes of items share
  double alpha = 0.01;      // weight of a new gap between two occurrences, up to 1
  friend bool operator==(const SamplingCorrection&, const SamplingCorrection&) = default;
};

struct RankingNetConfig {
  RankingModelType type = RankingModelType::kDlrm;
  int64_t dense_in = 0;  // dense features
  // Sizes of the lower MLP, the last of which is D, the dim of every table (not of mmoe and ple,
  // whose tables have any), and of the upper, whose last is the number of tasks.
  std::vector<int64_t> dense_arch = {}, over_arch = {};
  int64_t dcn_layers = 0, dcn_low_rank = 0;
  std::vector<int64_t> branch1 = {}, branch2 = {};  // sizes; the last ones are multiples of D
  int64_t hidden = 0, deep_fm_dim = 0;  // of the dense part's first layer, of the deep part
  // Ids come with weights, by which their rows are multiplied before they are pooled. Not beside
  // position_weights, which would take their place.
  bool weighted = false;
  // Longest bag by feature: its bags have at most so many ids, and the id at each position has a
  // learned weight (embedding/position_weighted.h). Ids of other features weigh 1.
  std::map<std::string, int64_t> position_weights = {};
  std::vector<SequenceAttention> attention = {};
  int64_t experts = 0;                    // that tasks share; of ple in each layer
  std::vector<int64_t> expert_arch = {};  // sizes of each expert
  std::vector<int64_t> tower_arch = {};   // sizes of each task's tower; the last is 1
  int64_t extraction_layers = 0;          // of ple
  int64_t task_experts = 0;               // of ple: experts of each task in each layer
  std::vector<TaskConfig> tasks = {};     // empty: one, the data's first label, by bce
  std::vector<std::string> query = {}, candidate = {};  // features of each of two towers
  std::vector<int64_t> tower_layers = {};               // sizes of each of two towers
  // Two towers' product is divided by it; their embeddings have the length 1 first, if `normalize`.
  float temperature = 1;
  bool normalize = false;
  std::optional<SamplingCorrection> sampling_correction = {};
  int64_t num_tasks() const { return tasks.empty() ? 1 : static_cast<int64_t>(tasks.size()); }
  TaskLoss loss_of(size_t task) const { return tasks.empty() ? TaskLoss::kBce : tasks[task].loss; }
};

// A block of columns of the pooled rows: those of a feature, in a table.
struct PooledFeature {
  std::string feature;
  int64_t dim = 0;
  // Above 0: a sequence, whose rows lie side by side, one for each position.
  int64_t positions = 0;
  int64_t columns() const { return positions > 0 ? positions * dim : dim; }
};
// Numbers of the blocks of a sequence and its target.
struct AttendedBlocks {
  size_t sequence = 0, target = 0;
};
// Throws Error, which begins with `where`, unless each of the two has one block, both of one dim.
AttendedBlocks FindAttendedBlocks(const SequenceAttention& attention,
                                  const std::vector<PooledFeature>& features,
                                  const std::string& where);
// The positions of a feature that `attention` names as a sequence; else 0.
int64_t PositionsOf(const RankingNetConfig& config, const std::string& feature);
// The most ids that a bag of the feature may have, where it is a sequence or has position weights.
std::optional<int64_t> MaxBagLength(const RankingNetConfig& config, const std::string& feature);

// Whether tables may have different dims.
bool TakesAnyDims(RankingModelType type);

// Throws Error for attention that names a feature in two roles, beside position_weights of its
// sequence, or of two towers.
void CheckAttention(const RankingNetConfig& config);

// Bytes of the slots of its sampling_correction: a step (i64) and a gap (f32) each; 0 without it.
double BytesOfSlots(const RankingNetConfig& config);

// Throws Error for a sampling_correction that no task by in_batch_softmax would use.
void CheckSamplingCorrection(const RankingNetConfig& config);

// Throws Error where a DLRM of `features` pooled rows of `dim` has too few for its interaction, or
// branches whose last size is no multiple of dim. Other types take any. REQUIRES: the sizes of its
// type are there.
void CheckInteraction(const RankingNetConfig& config, int64_t features, int64_t dim);

// Throws Error for a size that is missing, not above 0, or of another type of model, for another
// number of outputs than tasks, for tasks of one name, and as the checks above do.
void CheckRankingNetConfig(const RankingNetConfig& config);

}  // namespace tessera
#endif  // TESSERA_MODELS_RANKING_NET_CONFIG_H_
