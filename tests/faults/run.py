#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of faults.toml one at a time and asks whether some law notices.

usage: run.py [--only NAME ...] [--part K/N] [--list] [--check] [--jobs N] [--trust]

Works on copies of the sources in build/faults, one per processor: patch one place, build, run the tests of the law folders
until one fails, restore. The unpatched copy has to pass first. A fault that no test kills is a missing law; a fault that cannot
be planted or does not compile is an error of the table. Exit code 0: every fault was killed; 1: some survived; 2: the table is
wrong.
"""
import argparse
import concurrent.futures
import json
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).resolve().with_name("faults.toml")
WORK = TOP / "build" / "faults"
RESULT = TOP / "out" / "faults.json"
FOLDERS = ["laws", "analytic", "papers", "agreement", "order", "invariance"]
NAMED = FOLDERS + ["files", "edges", "reference"]  # a fault may name a law of these
COPIED = ["CMakeLists.txt", "VERSION", "cmake", "src", "tests", "examples", "models", "scenarios"]
HANG = 300  # s; a binary that takes longer does not end: the test that it is in has noticed


class TableError(Exception):
    pass


# ---- the table

def read_table(path=TABLE):
    faults = tomllib.loads(path.read_text())["fault"]
    names = [f["name"] for f in faults]
    for fault in faults:
        for key in ("name", "file", "old", "new", "breaks"):
            if not fault.get(key) and key != "new":
                raise TableError(f"fault '{fault.get('name', '?')}' has no '{key}'")
        if names.count(fault["name"]) > 1:
            raise TableError(f"two faults are called '{fault['name']}'")
    return faults


def patched(fault, text):
    """The text with the fault in it. `old` occurs once, or `of` times and the `which`-th is meant."""
    old, of = fault["old"], fault.get("of", 1)
    if (found := text.count(old)) != of:
        raise TableError(f"fault '{fault['name']}': old text occurs {found} times in {fault['file']}, not {of}")
    if old == fault["new"]:
        raise TableError(f"fault '{fault['name']}' changes nothing")
    parts = text.split(old)
    which = fault.get("which", 1)
    return old.join(parts[:which]) + fault["new"] + old.join(parts[which:])


def check(faults, top=TOP):
    """What is wrong with the table as sentences: texts that are not in the sources, laws that are not in the tests."""
    wrong = []
    tests = "\n".join(p.read_text() for folder in NAMED for p in (top / "tests" / folder).glob("*.cpp"))
    laws = {f"{s}.{n}" for s, n in re.findall(r"TEST(?:_F)?\((\w+),\s*(\w+)\)", tests)}
    for fault in faults:
        try:
            patched(fault, (top / fault["file"]).read_text())
        except (TableError, OSError) as e:
            wrong.append(str(e))
        law = fault.get("law", "")
        if law and law.partition("/")[2] not in laws:
            wrong.append(f"fault '{fault['name']}': there is no test {law}")
    return wrong


# ---- copies and their builds

def failure(log, code, timed_out):
    """The test that failed or was interrupted, and how; None if all passed."""
    text = log.read_text(errors="replace")
    if failed := re.search(r"^\[  FAILED  \] (\w+\.\w+)", text, re.M):
        return failed[1], "failed"
    if timed_out or code != 0:
        ran = re.findall(r"^\[ RUN      \] (\w+\.\w+)", text, re.M)
        how = f"did not end within {HANG} s" if timed_out else (f"signal {-code}" if code < 0 else f"exit code {code}")
        return (ran[-1] if ran else "start"), how
    return None


class Copy:
    """Sources and a build tree of their own, in which one fault at a time is planted."""

    def __init__(self, place):
        self.work = WORK / str(place)
        self.tree, self.build_tree = self.work / "tree", self.work / "build"
        self.work.mkdir(parents=True, exist_ok=True)
        self.sync()
        self.configure()

    def sync(self):
        """Makes the copy equal to the sources; files that are equal keep their time, so that nothing is built twice."""
        wanted = set()
        for name in COPIED:
            root = TOP / name
            for source in [root] if root.is_file() else [p for p in root.rglob("*") if p.is_file()]:
                target = self.tree / source.relative_to(TOP)
                wanted.add(target)
                if not target.exists() or target.read_bytes() != source.read_bytes():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(source, target)
        for target in [p for p in self.tree.rglob("*") if p.is_file()]:
            if target not in wanted:
                target.unlink()

    def environment(self):
        """Fixed seeds and few cases, whatever a campaign has set; one compiler cache for every copy."""
        env = {k: v for k, v in os.environ.items() if not k.startswith("INVAR_") and not k.startswith("GTEST_")}
        env |= {"CCACHE_BASEDIR": str(self.work), "CCACHE_NOHASHDIR": "1", "CCACHE_SLOPPINESS": "pch_defines,time_macros"}
        return env

    def command(self, words, log):
        with open(log, "w") as out:
            return subprocess.run(words, stdout=out, stderr=subprocess.STDOUT, env=self.environment()).returncode == 0

    def configure(self):
        words = ["cmake", "-S", str(self.tree), "-B", str(self.build_tree), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DINVAR_BUILD_CLI=OFF", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"]
        if not self.command(words, self.work / "configure.log"):
            sys.exit(f"the copy cannot be configured: see {self.work / 'configure.log'}")

    def build(self, folders, jobs):
        targets = [f"test_{f}" for f in folders]
        return self.command(["cmake", "--build", str(self.build_tree), "--parallel", str(jobs), "--target", *targets],
                            self.work / "build.log")

    def run(self, folder, jobs, only="*"):
        """Runs a binary, in `jobs` shards, up to the first failing test."""
        env = self.environment() | {"GTEST_TOTAL_SHARDS": str(jobs)}
        words = [str(self.build_tree / "tests" / f"test_{folder}"), "--gtest_fail_fast", f"--gtest_filter={only}"]
        logs = [self.work / f"run_{k}.log" for k in range(jobs)]
        shards, end, killed = [], time.monotonic() + HANG, None
        for k, log in enumerate(logs):
            with open(log, "w") as out:
                shards.append(subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, cwd=self.tree,
                                               env=env | {"GTEST_SHARD_INDEX": str(k)}))
        waiting = list(zip(shards, logs))
        while waiting and killed is None:
            late = time.monotonic() > end
            for shard, log in list(waiting):
                if (code := shard.poll()) is None and not late:
                    continue
                killed = killed or failure(log, code or 0, code is None)
                waiting.remove((shard, log))
            time.sleep(0.01)
        for shard in shards:
            if shard.poll() is None:
                shard.kill()
                shard.wait()
        return killed

    def unpatched(self, folders, jobs):
        """Seconds per folder; the unpatched tree has to build and pass."""
        if not self.build(folders, jobs):
            sys.exit(f"the unpatched copy does not build: see {self.work / 'build.log'}")
        seconds = {}
        for folder in folders:
            start = time.monotonic()
            if killed := self.run(folder, jobs):
                sys.exit(f"the unpatched copy is not green: {folder}/{killed[0]} {killed[1]}")
            seconds[folder] = round(time.monotonic() - start, 2)
            print(f"  unpatched {folder}: green in {seconds[folder]:.1f} s", flush=True)
        return seconds

    def hunt(self, fault, folders):
        """Who kills the fault: first the law that the table names, then every folder, cheapest first."""
        folder, _, law = fault.get("law", "").partition("/")
        attempts = ([(folder, law)] if law else []) + [(f, "*") for f in folders]
        for folder, only in attempts:
            if not self.build([folder], 1):
                raise TableError(f"fault '{fault['name']}' does not compile: see {self.work / 'build.log'}")
            if killed := self.run(folder, 1, only):
                return f"{folder}/{killed[0]}", killed[1]
        return None, "survived"

    def try_fault(self, fault, folders):
        target = self.tree / fault["file"]
        text = target.read_text()
        start = time.monotonic()
        target.write_text(patched(fault, text))
        try:
            killer, how = self.hunt(fault, folders)
        finally:
            target.write_text(text)
        return {"name": fault["name"], "file": fault["file"], "breaks": fault["breaks"], "killed_by": killer, "how": how,
                "seconds": round(time.monotonic() - start, 1)}


# ---- reporting

def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def print_table(results, total):
    width = max(len(r["name"]) for r in results)
    print()
    for r in results:
        note = "" if r["how"] in ("failed", "survived") else f" ({r['how']})"
        print(f"{r['name']:<{width}}  {r['killed_by'] or 'SURVIVED'}{note}  {r['seconds']:.1f} s")
    survivors = [r["name"] for r in results if r["killed_by"] is None]
    print(f"\n{len(results)} faults, {len(results) - len(survivors)} killed, {len(survivors)} survived, {minutes(total)} min")
    for name in survivors:
        print(f"survivor: {name}")
    return survivors


def campaign(faults, jobs, trust):
    start = time.monotonic()
    first = Copy(0)
    seconds = {} if trust else first.unpatched(FOLDERS, jobs)
    folders = sorted(FOLDERS, key=lambda f: seconds.get(f, 0))
    free = queue.SimpleQueue()
    for copy in [first] + [Copy(k) for k in range(1, jobs)]:
        free.put(copy)
    begun = time.monotonic()

    def try_somewhere(fault):
        copy = free.get()
        try:
            return copy.try_fault(fault, folders)
        finally:
            free.put(copy)

    results = []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        try:
            for n, result in enumerate(pool.map(try_somewhere, faults), 1):
                results.append(result)
                rest = (time.monotonic() - begun) / n * (len(faults) - n)
                print(f"[{n}/{len(faults)}] {result['name']}: {result['killed_by'] or 'SURVIVED'} "
                      f"({result['seconds']:.1f} s), about {minutes(rest)} min left", flush=True)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    total = time.monotonic() - start
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({"unpatched_seconds": seconds, "seconds": round(total, 1), "faults": results}, indent=1) + "\n")
    return print_table(results, total)


def part_of(faults, part):
    """Every N-th fault from the K-th on."""
    found = re.fullmatch(r"(\d+)/(\d+)", part)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        sys.exit(f"--part takes K/N with 1 <= K <= N, not '{part}'")
    return faults[int(found[1]) - 1::int(found[2])]


def main():
    parser = argparse.ArgumentParser(description="plants faults and asks whether some law notices")
    parser.add_argument("--only", metavar="NAME", nargs="+", help="these faults only")
    parser.add_argument("--part", metavar="K/N", default="1/1", help="every N-th fault from the K-th on")
    parser.add_argument("--list", action="store_true", help="names and what they break")
    parser.add_argument("--check", action="store_true", help="only whether every fault can still be planted")
    parser.add_argument("--plant", action="store_true", help="whether --check sees a table that has rotted")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N",
                        help="faults, compilers or test processes at a time")
    parser.add_argument("--trust", action="store_true", help="do not run the unpatched tests first")
    options = parser.parse_args()
    faults = read_table()
    if options.list:
        for fault in faults:
            print(f"{fault['name']}: {fault['breaks']}")
        return 0
    if options.plant:
        rotten = [dict(faults[0], old="a text that no source has"), dict(faults[0], law="laws/No.Such"), dict(faults[0], of=2)]
        return 0 if all(check([fault]) for fault in rotten) else 1
    if wrong := check(faults):
        raise TableError("\n".join(wrong))
    if options.check:
        print(f"{len(faults)} faults can be planted")
        return 0
    if unknown := set(options.only or []) - {f["name"] for f in faults}:
        raise TableError(f"there is no fault '{', '.join(sorted(unknown))}'")
    WORK.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copy is restored
    chosen = part_of([f for f in faults if not options.only or f["name"] in options.only], options.part)
    return 1 if campaign(chosen, options.jobs, options.trust) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except TableError as error:
        print(f"faults.toml: {error}", file=sys.stderr)
        sys.exit(2)
