#!/usr/bin/env python3
"""Ranks that are threads of one process, 4 to 256 of them with 16 rows of a batch each: ten steps,
a checkpoint, and the same for one rank fewer. Prints memory and time of a rank. Fails if a rank's
memory, or resharding's, grows faster than the number of ranks."""

import subprocess
import sys

import scenario

CONFIG = str((scenario.ROOT / "examples/planted.json").absolute())
RANKS = [4, 16, 64, 256]
ROWS_OF_A_RANK, STEPS = 16, 10


def measured(*args):
    """Seconds of the processor and KiB at the peak of a command, the only child of a process."""
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime, used.ru_maxrss)\n"
        "sys.exit(done.returncode)\n"
    )
    command = [sys.executable, "-c", code, scenario.TESSERA, *map(str, args)]
    done = subprocess.run(command, capture_output=True, text=True)
    scenario.expect(done.returncode == 0, f"tessera {args}: {done.stderr}")
    seconds, kib = done.stdout.split()
    return float(seconds), float(kib)


def trained(plan, ranks):
    batch = ROWS_OF_A_RANK * ranks
    args = ["train", "--config", CONFIG, "--ranks", ranks, "--plan", plan, "--quiet"]
    args += ["--batch-size", batch, "--set", f"data.rows={STEPS * batch}"]
    args += ["--set", f"data.eval_rows={batch}", "--checkpoint", f"{plan}_{ranks}"]
    return measured(*args)


def resharded(plan, ranks):
    args = ["reshard", f"{plan}_{ranks}", "--ranks", ranks - 1, "--plan", plan]
    return measured(*args, "--out", f"{plan}_{ranks}_fewer")


def main():
    print("| plan | ranks | train, CPU s a rank | MiB a rank | reshard, CPU s | MiB |")
    print("|---|---|---|---|---|---|")
    with scenario.work_folder():
        for plan in ("table_wise", "row_wise"):
            before = None
            for ranks in RANKS:
                seconds, kib = trained(plan, ranks)
                other_seconds, other_kib = resharded(plan, ranks)
                of_rank = kib / 1024 / ranks
                row = f"| {plan} | {ranks} | {seconds / ranks:.3f} | {of_rank:.1f} "
                print(row + f"| {other_seconds:.2f} | {other_kib / 1024:.0f} |", flush=True)
                if before:
                    growth = ranks / before[0]
                    scenario.expect(
                        of_rank < growth * before[1] and other_kib < growth * before[2],
                        f"{plan}: memory from {before[0]} to {ranks} ranks",
                    )
                before = (ranks, of_rank, other_kib)


if __name__ == "__main__":
    main()
