#ifndef TESSERA_SERVE_EXPORT_EXPORT_TENSORS_H_
#define TESSERA_SERVE_EXPORT_EXPORT_TENSORS_H_
// The part that all files of a model directory share (model_spec.h): tensors on 64-byte boundaries,
// and the dense part of a checkpoint.
#include <string>

#include "runtime/context.h"
#include "runtime/files/safetensors.h"
#include "serve/model_spec.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::serve {

// Adds a tensor, and the padding that makes the next one begin on a boundary. Throws Error for a
// name that exists.
void AddPadded(StreamedSafetensors& content, const std::string& name, StreamedTensor tensor);

// All of the dense part, under the names of the checkpoint. Throws Error for a parameter that is
// not there or has another shape, for numbers beyond f16 where spec.dense_type is that, and where
// the checkpoint has weights or state of raw ids that the model does not have: it is another one's.
void AddDensePart(Context& ctx, const Checkpoint& checkpoint, const ModelSpec& spec,
                  StreamedSafetensors& content);

// Writes a file that deltas may follow: its metadata hold a crc32.
void WriteModelFile(const std::string& path, const StreamedSafetensors& content);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_EXPORT_TENSORS_H_
