#!/usr/bin/env python3
"""Every row of a file, sent raw as JSON in requests of one to a thousand rows on six connections,
has the score that `predict` gives it; AUC and log-loss are those of training's own evaluation."""

import concurrent.futures
import json
import pathlib
import random
import struct

import scenario

CONNECTIONS = 6
METRICS = ("auc", "log_loss", "normalized_entropy", "calibration")


def requests_of(lines):
    """Consecutive rows, one to a thousand a request: (first row, body)."""
    dice, first = random.Random(1), 0
    while first < len(lines):
        count = dice.choice([1, 2, 3, 50, 200, 1000])
        yield first, "\n".join(lines[first : first + count]).encode()
        first += count


def bits(score):
    """A score's bits as a float: texts of one float may have more digits than they need."""
    return struct.pack("<f", score)


def scores_of_predict(model, rows):
    scenario.tessera("predict", model, "--data", rows.path, "-o", "scores.txt")
    return [float(line) for line in pathlib.Path("scores.txt").read_text().split()[1:]]


def scores_over_http(model, rows):
    """The score of each row, and how many requests they took."""
    server = scenario.Server(model)
    bodies = list(requests_of(list(rows.as_json())))

    def ask(request):
        answer = json.loads(server.ask("/v2/models/model/infer_rows", request[1]))
        return answer["outputs"][0]["data"]

    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        answers = list(pool.map(ask, bodies))
    server.end()
    return [score for answer in answers for score in answer], len(bodies)


def main():
    with scenario.work_folder():
        rows = scenario.Rows()
        scenario.tessera("train", *rows.train, "--checkpoint", "model.st", "--json", "train.json")
        scenario.tessera("quantize", "model.st", "-o", "served", "--bits", 32)

        trained = json.loads(pathlib.Path("train.json").read_text())
        evaluated = ["--data", rows.path, "--rows", f"{rows.count * 4 // 5}:{rows.count}"]
        for model in ("model.st", "served"):
            scenario.tessera("evaluate", model, *evaluated, "--json", "evaluated.json")
            found = json.loads(pathlib.Path("evaluated.json").read_text())
            for metric in METRICS:
                scenario.expect(
                    found[metric] == trained[metric],
                    f"{metric} of {model}: {found[metric]}, of the training {trained[metric]}",
                )

        answered, requests = scores_over_http("served", rows)
        for model in ("model.st", "served"):
            predicted = scores_of_predict(model, rows)
            scenario.expect(len(predicted) == rows.count == len(answered), "rows are missing")
            different = sum(bits(a) != bits(b) for a, b in zip(answered, predicted))
            scenario.expect(different == 0, f"{different} rows have other scores in {model}")
        print(f"{rows.count} rows in {requests} requests: 0 scores differ, nor do {METRICS}")


if __name__ == "__main__":
    main()
