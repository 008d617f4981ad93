#ifndef TESSERA_RUNTIME_FILES_SAFETENSORS_H_
#define TESSERA_RUNTIME_FILES_SAFETENSORS_H_
// Reads and writes safetensors files (https://huggingface.co/docs/safetensors): 8 bytes with the
// length n of the header, little endian; n bytes of JSON {"name": {"dtype", "shape",
// "data_offsets": [begin, end]}, …, "__metadata__": {string: string}}; then the elements of all
// tensors, row-major, without gaps. In files that are written here they begin at a multiple of 64.
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/tensor.h"

namespace tessera {

// One tensor in the header of a file.
struct SafetensorsEntry {
  DType dtype;
  Shape shape;
  int64_t begin = 0;  // of its bytes, in the file

  int64_t nbytes() const { return shape.numel() * SizeOf(dtype); }
};

// A file whose header was read and found sound; elements are read when they are asked for. One
// thread at a time. Errors name the file.
class SafetensorsFile {
 public:
  // Throws Error saying what was expected and what came, for a file that is missing, truncated,
  // longer than it says, or has a header that is not what the format asks for.
  explicit SafetensorsFile(const std::string& path);
  // Reads a file in memory, which must outlive this; `name` stands for it in errors.
  SafetensorsFile(std::string_view bytes, const std::string& name);

  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  // Reads an entry into `tensor`, on any device, a piece at a time. Throws Error if the file cannot
  // be read. REQUIRES: the entry's dtype and shape, contiguous; on a GPU, ctx is on it.
  void Read(Context& ctx, const SafetensorsEntry& entry, const Tensor& tensor) const;
  // A tensor on ctx's device.
  Tensor Read(Context& ctx, const SafetensorsEntry& entry) const;
  // `count` of an entry's bytes, from `offset` on. REQUIRES: they lie inside.
  void ReadBytes(const SafetensorsEntry& entry, int64_t offset, int64_t count, void* out) const;
  // fn(bytes, count) for the pieces of an entry.
  void Visit(const SafetensorsEntry& entry,
             const std::function<void(const void*, int64_t)>& fn) const;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  SafetensorsFile(const std::string& path, std::FILE* file);
  void ReadHeader();
  void Seek(int64_t at) const;

  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

struct Safetensors {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Reads the whole file, to ctx's device. Throws Error as SafetensorsFile does; nothing is returned
// half-read.
Safetensors ReadSafetensors(Context& ctx, const std::string& path);

// A number of 32 bits over the bytes of all tensors, as they lie in the file: it is metadata
// under `key`, in decimal digits. `update` goes on from a number, at first 0, with more bytes.
struct SafetensorsChecksum {
  std::string key;
  std::function<uint32_t(uint32_t so_far, const void* bytes, int64_t count)> update;
};

// A tensor whose bytes are made when they are asked for: make(sink) calls sink(bytes, count) for
// all of them, row-major.
struct StreamedTensor {
  using Sink = std::function<void(const void* bytes, int64_t count)>;
  DType dtype = DType::kF32;
  Shape shape;
  std::function<void(const Sink& sink)> make;
  int64_t padding = 0;  // zeros right behind it, the tensor "<name>.padding": u8, if there are any
};
// Makes a StreamedTensor of a tensor of the host or of ctx's device; ctx must outlive it. REQUIRES:
// contiguous.
StreamedTensor Streamed(Context& ctx, const Tensor& tensor);

struct StreamedSafetensors {
  std::map<std::string, StreamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// The bytes of the file that WriteSafetensors makes, which it needs on the disk.
double BytesOfFile(const StreamedSafetensors& content, const SafetensorsChecksum* checksum);

// Writes the tensors, made in the order of their names, beside `path`, syncs, and renames, so that
// a crash leaves the file that was there. Throws Error when it can't.
void WriteSafetensors(const std::string& path, const StreamedSafetensors& content,
                      const SafetensorsChecksum* checksum = nullptr);

// Writes tensors of the host or of ctx's device.
void WriteSafetensors(Context& ctx, const std::string& path, const Safetensors& content,
                      const SafetensorsChecksum* checksum = nullptr);
// The file's bytes. REQUIRES: contiguous tensors.
std::string SafetensorsBytes(Context& ctx, const Safetensors& content);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILES_SAFETENSORS_H_
