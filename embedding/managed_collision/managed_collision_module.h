#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_MODULE_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_MODULE_H_
// Which row of one table a raw id has, where ids are any 64-bit numbers and rows are few:
// TorchRec's class of this name (torchrec/modules/mc_modules.py).
//
//   training   ids are taken note of, and may be given rows that belonged to others
//   else       ids are looked up, and nothing changes
//
// The next Evict names each row that went to another id; until the table's owner resets it, it
// holds what its former id learned. All devices give the same rows. Evict waits for a GPU, and so
// does a training forward, unless the module says otherwise. Not for use by two threads at once.
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

struct RowsToStart;

class ManagedCollisionModule {
 public:
  virtual ~ManagedCollisionModule() = default;

  // The row of each id, i64 [N_f] a feature. ids[f]: [N_f], i32 or i64, of the features that read
  // the table, always in the same order.
  std::vector<Tensor> Forward(Context& ctx, std::span<const Tensor> ids, bool training);

  // Rows that went to another id since the last call, [k] i64, ascending, each once. A row that
  // nobody had is not among them.
  Tensor Evict(Context& ctx);
  // Hands the evicted rows, if there are any, to fn, perhaps some at a time; fn resets them with
  // ctx.random() as it finds it.
  virtual void EvictTo(Context& ctx, const std::function<void(const Tensor& rows)>& fn);
  // Hands `start` what rows_in_use and EvictTo would say, without waiting for a GPU; does not call
  // it if nothing has changed since. Returns false, having changed nothing, if it cannot or `start`
  // returns false; then ask rows_in_use and EvictTo.
  virtual bool StartRows(const std::function<bool(const RowsToStart& rows)>& start);

  // Rows are below this: the table's num_embeddings.
  virtual int64_t output_size() const = 0;
  // Rows that Forward has returned so far are below this; a growing table needs as many in use.
  virtual int64_t rows_in_use() const { return output_size(); }
  // Raw ids are meant to be below this; 0: any.
  virtual int64_t input_size() const = 0;

  // Ids that have a row of their own. Waits for ctx's stream.
  virtual int64_t NumIdsSync(Context& ctx) const = 0;
  // Number of rows that Evict has returned, or StartRows has handed on, since this was made. May
  // wait for a GPU.
  virtual int64_t num_evicted() const { return num_evicted_; }

  // All that a resumed run needs to go on with the same bits, under TorchRec's names where it has
  // them; copies.
  virtual std::vector<NamedTensor> StateDict(Context& ctx) const = 0;
  // Tensors that a TorchRec checkpoint does not have may be absent. Throws Error, and changes
  // nothing, for other names, shapes or types.
  virtual void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors) = 0;

 protected:
  virtual std::vector<Tensor> Map(Context& ctx, std::span<const Tensor> ids, bool training) = 0;
  void NoteEvicted(int64_t row) { evicted_.push_back(row); }
  void NoteEvicted(const std::vector<int64_t>& rows) {
    evicted_.insert(evicted_.end(), rows.begin(), rows.end());
  }
  // Sorts rows and leaves each in once.
  static std::vector<int64_t> Ascending(std::vector<int64_t> rows);
  // Returns the rows that Evict returns.
  virtual Tensor TakeEvicted(Context& ctx);

  // Keeps what a forward on a GPU left there, which ChangedSync reads when somebody asks. Reads
  // all when more than kMaxUnread are kept.
  void NoteUnread(const Tensor& forward);
  // Rows that changed hands in a forward of NoteUnread.
  virtual std::vector<int64_t> ChangedSync(const Tensor& forward) const;
  // Rows that changed hands in the forwards that nobody has asked about.
  std::vector<int64_t> UnreadSync() const;
  // Notes those rows.
  virtual void ReadSync();
  // Number of rows that ReadSync has noted so far, with those of UnreadSync.
  int64_t NumChangedSync() const { return num_changed_ + std::ssize(UnreadSync()); }

  // A module on a GPU holds memory of so many forwards until somebody asks what they did.
  static constexpr size_t kMaxUnread = 4;
  std::vector<int64_t> evicted_;  // since Evict, in any order
  std::vector<Tensor> unread_;    // forwards since Evict or StartRows

 private:
  int64_t num_evicted_ = 0, num_changed_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_MODULE_H_
