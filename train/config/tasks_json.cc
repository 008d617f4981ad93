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
  object.NeededUnless("label", "loss", ToString(TaskLoss::kInBatchSoftmax));
}

TaskConfig ReadTask(const Json& value, const std::string& where, JsonProblems* problems) {
  JsonObject object(value, where, problems);
  TaskConfig task;
  const bool good = object.Try([&] {
    object.OptionalWord("loss", task.loss,
                        {TaskLoss::kBce, TaskLoss::kMse, TaskLoss::kInBatchSoftmax});
  }) && object.Try([&] { ReadLabel(object, task); });
  object.Try([&] {
    object.Optional("name", task.name);
    if (!object.Has("name")) task.name = task.label.empty() ? ToString(task.loss) : task.label;
    if (good) CheckName(task.name, object.at("name"));
  });
  object.Try([&] {
    object.Optional("weight", task.weight);
    object.Note("weight", AtLeast(0));
    if (task.weight < 0) ThrowExpected(object.at("weight"), "a number of 0 or more", task.weight);
  });
  object.Try([&] { object.Optional("where", task.where); });
  object.Find("label");  // known, though it may not have been read
  object.Finish();
  return task;
}

}  // namespace

void ReadTasks(JsonObject& object, std::vector<TaskConfig>& tasks) {
  std::set<std::string> names;
  object.Parts("tasks", JsonNeed::kOptional, 1, "a list of at least one task",
               [&](const Json& value, const std::string& where, JsonProblems* problems) {
                 tasks.push_back(ReadTask(value, where, problems));
                 const bool good = problems == nullptr || !problems->In(where);
                 if (good && !names.insert(tasks.back().name).second)
                   throw Error(Format("{}: two are called '{}': give one of them another \"name\"",
                                      object.at("tasks"), tasks.back().name));
               });
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
