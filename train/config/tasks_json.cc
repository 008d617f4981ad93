#include "train/config/tasks_json.h"

#include <set>

#include "train/config/number_json.h"

namespace tessera::internal {
namespace {

// Names of metrics are made of it, with dots between their parts.
void CheckName(const std::string& name, const std::string& where) {
  if (name.empty() || name.find('.') != std::string::npos)
    ThrowExpected(where, "a name without a dot that is not empty", name);
}

void ReadLabel(JsonObject& object, TaskConfig& task) {
  if (task.loss == TaskLoss::kInBatchSoftmax)
    object.Optional("label", task.label);
  else
    object.Required("label", task.label);
}

TaskConfig ReadTask(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  TaskConfig task;
  const bool good = object.Try([&] {
    object.OptionalWord("loss", task.loss,
                        {TaskLoss::kBce, TaskLoss::kMse, TaskLoss::kInBatchSoftmax});
  }) && object.Try([&] { ReadLabel(object, task); });
  task.name = task.label.empty() ? ToString(task.loss) : task.label;
  object.Try([&] {
    object.Optional("name", task.name);
    if (good) CheckName(task.name, object.at("name"));
  });
  object.Try([&] {
    object.Optional("weight", task.weight);
    if (task.weight < 0) ThrowExpected(object.at("weight"), "a number of 0 or more", task.weight);
  });
  object.Try([&] { object.Optional("where", task.where); });
  object.Find("label");  // known, though it may not have been read
  object.Finish();
  return task;
}

}  // namespace

std::vector<TaskConfig> TasksFromJson(const Json& list, const std::string& where,
                                      JsonProblems* problems) {
  if (!list.is_array() || list.empty()) ThrowExpected(where, "a list of at least one task", list);
  std::vector<TaskConfig> tasks;
  std::set<std::string> names;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = Format("{}[{}]", where, i);
    Try(problems, [&] {
      tasks.push_back(ReadTask(list[i], place, problems));
      const bool good = problems == nullptr || !problems->In(place);
      if (good && !names.insert(tasks.back().name).second)
        throw Error(Format("{}: two are called '{}': give one of them another \"name\"", where,
                           tasks.back().name));
    });
  }
  return tasks;
}

Json TasksToJson(const std::vector<TaskConfig>& tasks) {
  Json list = Json::array();
  for (const TaskConfig& task : tasks) {
    list.push_back({{"name", task.name},
                    {"loss", ToString(task.loss)},
                    {"weight", ShortestDouble(task.weight)}});
    if (!task.label.empty()) list.back()["label"] = task.label;
    if (!task.where.empty()) list.back()["where"] = task.where;
  }
  return list;
}

}  // namespace tessera::internal
