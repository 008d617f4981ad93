#ifndef TESSERA_SERVE_EXPORT_EXPORT_TENSORS_H_
#define TESSERA_SERVE_EXPORT_EXPORT_TENSORS_H_
// What the files of a model directory have in common (model_spec.h): tensors on 64-byte boundaries,
// and the dense part of a checkpoint.
#include <string>

#include "runtime/files/safetensors.h"
#include "serve/model_spec.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::serve {

// With what makes the next tensor begin on a boundary behind it. Throws Error for a name that is
// there.
void AddPadded(StreamedSafetensors& content, const std::string& name, StreamedTensor tensor);

// All of the dense part, under the names of the checkpoint. Throws Error for a parameter that is
// not there or has another shape, and for numbers beyond f16 where spec.dense_type is that.
void AddDensePart(Context& ctx, const Checkpoint& checkpoint, const ModelSpec& spec,
                  StreamedSafetensors& content);

// As what deltas follow: with a crc32 in the metadata.
void WriteModelFile(const std::string& path, const StreamedSafetensors& content);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_EXPORT_TENSORS_H_
