#ifndef TESSERA_SHARDING_EXCHANGE_INPUT_DIST_H_
#define TESSERA_SHARDING_EXCHANGE_INPUT_DIST_H_
// Sends ids to the ranks that hold their rows: one exchange of counts, one of data.
//
//   message to a rank   lengths of the rank's streams (i32), ids, weights (f32, if any); each part
//                       stream after stream, from an offset that 8 divides
//
// What arrives is a KeyedJaggedTensor with a key a stream, its bags rank after rank. Ids are copied
// twice: into the message, and out of it.
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "comm/communicator.h"
#include "sharding/exchange/dist_layout.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// Input of a feature: ids [begin, end) of `ids`, in bags [first_bag, first_bag + num_bags).
struct DistFeature {
  Tensor ids;
  int64_t begin = 0, end = 0;
  int64_t first_bag = 0, num_bags = 0;
};
// The ids of a key of `kjt`, as they are.
DistFeature FeatureOfKey(const KeyedJaggedTensor& kjt, const std::string& key);

// Ids that a rank sends in one exchange: the side of its own bags.
struct SentIds {
  // positions[r][s], for stream s of rank r: places of the sent ids among the feature's ids;
  // undefined where all of them are sent.
  std::vector<std::vector<Tensor>> positions;
  std::vector<std::vector<int64_t>> ids;  // how many were sent
  std::vector<DistFeature> features;
};

// Ids that a rank receives in one exchange: the side of the rows.
struct ReceivedIds {
  KeyedJaggedTensor kjt;                        // keys "0", "1", …: the rank's streams
  std::vector<std::vector<int64_t>> bags, ids;  // [rank][stream]
  // [node][feature]: of the ranks with this one's place in their nodes. None where local_size is 1.
  std::vector<std::vector<int64_t>> node_bags;
};

struct DedupedIds;  // sharding/exchange/dedup.h
struct NodeIds;     // sharding/exchange/node/node_dedup.h

class InputDist {
 public:
  // `kjt` gives dtypes, bags and weights; features are places in it (their ids may be mended or
  // remapped copies). Ids that name no row of their feature's table go nowhere where rows are
  // split. Waits for a device: counts have to be known.
  static Awaitable<InputDist> Start(Context& ctx, std::shared_ptr<const DistLayout> layout,
                                    Communicator& comm, const KeyedJaggedTensor& kjt,
                                    std::vector<DistFeature> features);

  const SentIds& sent() const { return *sent_; }
  const ReceivedIds& received() const { return *received_; }
  std::shared_ptr<const SentIds> shared_sent() const { return sent_; }
  std::shared_ptr<const ReceivedIds> shared_received() const { return received_; }
  // Replaces received().kjt by one with the same bags and weights, and rows for raw ids
  // (hash_parts.h). Copies of this InputDist made before do not count as remapped.
  void SetRemapped(KeyedJaggedTensor kjt) {
    received_->kjt = std::move(kjt);
    remapped_ = true;
  }
  bool remapped() const { return remapped_; }
  // The distinct ids that were sent in place of the features' ids; nullptr if these were sent
  // themselves.
  std::shared_ptr<const DedupedIds> deduped() const { return deduped_; }
  void set_deduped(std::shared_ptr<const DedupedIds> ids) { deduped_ = std::move(ids); }
  // Where ids travelled once a node: what lies between deduped() and this exchange, which is the
  // one between nodes; else nullptr.
  std::shared_ptr<const NodeIds> node_ids() const { return node_ids_; }
  void set_node_ids(std::shared_ptr<const NodeIds> ids) { node_ids_ = std::move(ids); }

 private:
  std::shared_ptr<SentIds> sent_ = std::make_shared<SentIds>();
  std::shared_ptr<ReceivedIds> received_ = std::make_shared<ReceivedIds>();
  std::shared_ptr<const DedupedIds> deduped_;
  std::shared_ptr<const NodeIds> node_ids_;
  bool remapped_ = false;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_INPUT_DIST_H_
