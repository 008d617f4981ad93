#ifndef TESSERA_TRAIN_CONFIG_TASKS_JSON_H_
#define TESSERA_TRAIN_CONFIG_TASKS_JSON_H_
// The tasks of a model as JSON: [{"label": "like", "name": "like", "loss": "bce" | "mse" |
// "in_batch_softmax", "weight": 1, "where": label}, …]; all but "label" may be left out, and that, too,
// of a task by in_batch_softmax.
#include <string>
#include <vector>

#include "models/ranking_net_config.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Reads the key "tasks" of a model. Throws Error, or adds to the object's problems, for no tasks,
// two of one name, and a weight that is not a number of 0 or more.
void ReadTasks(JsonObject& object, std::vector<TaskConfig>& tasks);

// Every key, but "where" of tasks that have none.
Json TasksToJson(const std::vector<TaskConfig>& tasks);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_TASKS_JSON_H_
