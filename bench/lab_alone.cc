#include "bench/lab/lab_topic.h"
#include "bench/topics.h"

namespace tessera::bench {

std::vector<const Topic*> Topics() { return {&LabTopic()}; }

}  // namespace tessera::bench
