// Files of ratings, in each layout.
#include "data/files/ratings.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/temp_file.h"

namespace tessera::fuzz {

std::vector<std::string> Seeds() {
  return {"1\t1193\t5\t978300760\n2\t661\t3.5\t978302109\n", "1::1193::5::978300760\r\n",
          "userId,movieId,rating,timestamp\n1,1193,5.0,978300760\n",
          "5\t1\t1193\tF\t1\t10\t48067\t1975\tDrama\n"};
}

}  // namespace tessera::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const std::string path = fuzz::WriteTempFile("ratings", fuzz::AsText(data, size));
  fuzz::MayRefuse([&] {
    for (const Rating& rating : ReadRatings({path}))
      if (rating.user < 0 || rating.item < 0 || !(rating.rating <= 5)) __builtin_trap();
  });
  return 0;
}
