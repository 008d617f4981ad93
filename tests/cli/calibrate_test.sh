#!/bin/bash
# tessera calibrate measures, prints tables, and writes a topology that it can read back.
source "$(dirname "$0")/cli_test_lib.sh"

run 0 calibrate --quick --ranks 2 -o topology.json
has out "2 ranks (local)"
has out "lookup of a row"
has out "update of a row, rowwise_adagrad"
has out "all_to_all"
has out "GFLOP/s"
has out "written to topology.json"
json topology.json 'd["tessera_topology"] == 1 and d["compute_device"] == "cpu"'
json topology.json 'd["world_size"] == 2 and d["ddr_cap"] > 0'
json topology.json 'd["profile"]["tessera_profile"] == 1 and d["profile"]["ranks"] == 2'
json topology.json 'len(d["profile"]["collectives"]) == 4'

run 0 calibrate --quick --ranks 3 --cores 2 --threads 1 --json
json out 'd["cores_per_node"] == 2 and d["profile"]["measuring_ranks"] == 2'

fails_saying "--comm host beside --device cpu" calibrate --quick --ranks 2 --comm host
fails_saying "/proc/no/where: cannot be written" calibrate -o /proc/no/where
fails_saying "device 'gpu'" calibrate --quick --device gpu
