#ifndef TESSERA_EMBEDDING_POOLS_TENSOR_POOL_H_
#define TESSERA_EMBEDDING_POOLS_TENSOR_POOL_H_
// A pool of rows of one size, read and written by row number (TorchRec's class of this name,
// torchrec/modules/tensor_pool.py): pool [pool_size, dim] of any type, 0 at first. No gradients
// flow. Ids are [n], i32 or i64; one that names no row is an error, so calls wait for a device. Not
// for use by two threads at once while one updates.
#include <string>
#include <vector>

#include "embedding/config/placement.h"
#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

class TensorPool {
 public:
  // Makes a pool on ctx's device, or, as a table may be, in memory that it can reach (TorchRec's
  // enable_uvm: kManaged). Throws Error for negative sizes, kManagedCaching and kDisk: a pool has
  // no cache of rows.
  TensorPool(Context& ctx, int64_t pool_size, int64_t dim, DType dtype = DType::kF32,
             EmbeddingLocation location = EmbeddingLocation::kDevice);
  // These rows, whose storage it shares. REQUIRES: [pool_size, dim], contiguous.
  explicit TensorPool(Tensor pool);

  // Row ids[j] as row j: [n, dim].
  Tensor Lookup(Context& ctx, const Tensor& ids) const;
  // Row j of values ([n, dim] of the pool's type) becomes row ids[j]; of an id that comes again,
  // the last one counts. Throws Error, and changes nothing, for other values or ids.
  void Update(Context& ctx, const Tensor& ids, const Tensor& values);

  int64_t pool_size() const { return pool_.dim(0); }
  int64_t dim() const { return pool_.dim(1); }
  DType dtype() const { return pool_.dtype(); }
  const Tensor& pool() const { return pool_; }

  // prefix + "_pool", a copy.
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix = "") const;
  // Throws Error for other names, shapes or types.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix = "");

 private:
  Tensor pool_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_POOLS_TENSOR_POOL_H_
