#include "serve/export/export_tensors.h"

#include <gmock/gmock.h>

#include "runtime/base/check.h"
#include "serve/mapped_tensors.h"
#include "tests/serve/testing/small_model.h"

namespace tessera::serve {
namespace {

using tessera::testing::TempPath;
using ::testing::ThrowsMessage;

// One table's padding comes before another whose name goes on where the first one's ends.
TEST(ExportTensors, PaddingLiesBehindItsTensor) {
  Context ctx({.threads = 1});
  StreamedSafetensors content;
  for (const char* name : {"t", "t-1", "t.bytes"})
    AddPadded(content, name, Streamed(ctx, Tensor::From<int64_t>(ctx, {1, 2, 3})));
  EXPECT_THAT([&] { AddPadded(content, "t", {}); },
              ThrowsMessage<Error>("tensor 't' is there twice: tables need other names"));
  const std::string path = TempPath("padding.safetensors");
  WriteModelFile(path, content);
  const MappedTensors read(path);
  EXPECT_TRUE(read.IsIntact());
  const SafetensorsFile file(path);
  for (const auto& [name, entry] : file.entries()) {
    if (name.ends_with(".padding")) continue;
    EXPECT_EQ(entry.begin % 64, 0) << name;
  }
  EXPECT_EQ(read.ShapeOf("t-1.padding"), Shape({40}));
}

}  // namespace
}  // namespace tessera::serve
