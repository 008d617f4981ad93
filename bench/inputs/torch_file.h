#ifndef TESSERA_BENCH_INPUTS_TORCH_FILE_H_
#define TESSERA_BENCH_INPUTS_TORCH_FILE_H_
// Tensors of whole numbers out of a file of torch.save, plain or gzip: a zip archive of data.pkl, a
// pickle that says what there is, and data/KEY, the numbers of a storage. Of the pickle only what
// names tensors is followed; nothing is ever called.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct TorchTensor {
  std::vector<int64_t> shape = {}, numbers = {};
};

// One tensor, or a tuple or list of some: those of i32 or i64, in their order; others are left out.
// Throws Error, naming the file, for any other, and for tensors that are views with gaps.
std::vector<TorchTensor> ReadTorchFile(const std::string& path);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_TORCH_FILE_H_
