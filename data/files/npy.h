#ifndef TESSERA_DATA_FILES_NPY_H_
#define TESSERA_DATA_FILES_NPY_H_
// Files of numpy.save: the magic "\x93NUMPY", a version, the length of the header, the header (a
// Python dictionary: 'descr', 'fortran_order', 'shape'), then the elements, row-major.
//
// Read: versions 1 to 3, little-endian f32, f64, i8, u8, i16, i32, i64 and bool, row-major.
// Written: version 1.
#include <memory>
#include <string>
#include <string_view>

#include "runtime/files/atomic_file.h"
#include "runtime/tensor.h"

namespace tessera {

struct NpyHeader {
  DType dtype = DType::kF32;
  Shape shape;
  int64_t begin = 0;  // of the elements, in the file
};

// Parses the header of a file that begins with `bytes`: the whole file, or its first 64 KiB. Throws
// Error saying what was expected.
NpyHeader ParseNpyHeader(std::string_view bytes);

// The elements of a whole file's bytes, which the owner keeps; they may begin at any address.
// Throws Error for a file that is not as above, or too short or long.
Tensor NpyElements(std::string_view bytes, std::shared_ptr<void> owner);
// A mapped file's elements. Throws Error, naming the file, for one that is not as above, or too
// short or long.
Tensor MapNpy(const std::string& path);

// Writes a file of rows that come one after the other; it is there when Finish returns, else
// nothing is left behind.
class NpyWriter {
 public:
  // Rows of `columns` elements; REQUIRES: a dtype that is read.
  NpyWriter(const std::string& path, DType dtype, int64_t columns);

  // `row`: `columns` elements. Throws Error when it can't be written.
  void Append(const void* row);
  // Writes all of it, so that its name alone is missing. Throws Error when it can't be written.
  void Prepare();
  // Removes a file that is there.
  void Withdraw() { file_.RemoveReplaced(); }
  // Gives it its name. REQUIRES: Prepare.
  void Finish() { file_.Commit(); }

 private:
  void WriteHeader();

  AtomicFile file_;
  DType dtype_;
  int64_t columns_, rows_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_DATA_FILES_NPY_H_
