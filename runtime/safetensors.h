#ifndef TESSERA_RUNTIME_SAFETENSORS_H_
#define TESSERA_RUNTIME_SAFETENSORS_H_
// Reads and writes safetensors files (https://huggingface.co/docs/safetensors): 8 bytes with the
// length n of the header, little endian; n bytes of JSON {"name": {"dtype", "shape",
// "data_offsets": [begin, end]}, …, "__metadata__": {string: string}}; then the elements of all
// tensors, row-major, without gaps.
#include <map>
#include <string>

#include "runtime/tensor.h"

namespace tessera {

struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Reads the whole file. Throws Error naming the file, what was expected and what came, for a file
// that is missing, truncated, longer than it says, or has a header that is not what the format asks
// for; nothing is returned half-read.
Safetensors ReadSafetensors(Context& ctx, const std::string& path);

// Writes beside `path`, syncs, and renames, so that a crash leaves the file that was there. Throws
// Error when it can't.
void WriteSafetensors(const std::string& path, const Safetensors& content);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_SAFETENSORS_H_
