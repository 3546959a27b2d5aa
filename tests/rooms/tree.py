#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules of the source tree. `tree.py RULE DIR` lists what breaks a rule; `tree.py --plant RULE` proves that the rule can fail."""
import pathlib
import re
import sys
import tempfile

# Rooms from the ground up: a room includes itself and the rooms before it. Kept in step with docs/architecture.md.
ROOMS = ["base", "geom", "model", "mech", "integrate", "control", "learn", "run", "study", "io", "report"]
SKIP = {".git", "build", "out", "node_modules", "__pycache__"}
SPDX = "SPDX-License-Identifier: Apache-2.0"
CODE = {".cpp", ".hpp", ".cmake", ".py", ".sh", ".ts", ".in"}
TEXT = CODE | {".md", ".toml", ".json", ".cff", ".txt"}
# Places and people that exist on one machine only. Written in classes so that this line does not match itself.
PLACES = re.compile(r"(?<![\w.])/([w]ork|[f]arm|[h]ome/\w+|[r]oot|[U]sers/\w+)/|/[t]mp/b-|\b(AI|LLM) (agent|assistant)\b|[c]oding agent|this [s]ession\b")


def files(top):
    """Files of the tree, relative, without what is built or ignored."""
    for path in sorted(top.rglob("*")):
        relative = path.relative_to(top)
        if path.is_file() and not SKIP & set(relative.parts):
            yield relative


def is_script(path):
    with path.open("rb") as f:
        return f.read(2) == b"#!"


def rooms(top):
    """A room includes only rooms above it in the list."""
    for file in files(top):
        if file.parts[:2] != ("src", "invar") or len(file.parts) < 4:
            continue
        room = file.parts[2]
        if room not in ROOMS:
            yield f"{file}: room '{room}' is not in the list"
            continue
        allowed = ROOMS[: ROOMS.index(room) + 1]
        for number, line in enumerate((top / file).read_text().splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*[<"]invar/(\w+)/', line)
            if include and include[1] not in allowed:
                yield f"{file}:{number}: room '{room}' includes '{include[1]}', which is not above it"
            if re.match(r'\s*#\s*include\s*"(?!invar/)', line):
                yield f"{file}:{number}: include by full path, \"invar/<room>/<file>.hpp\""


def spdx(top):
    """Code names its licence in the first lines."""
    for file in files(top):
        path = top / file
        if file.suffix in CODE or file.name == "CMakeLists.txt" or is_script(path):
            if SPDX not in "\n".join(path.read_text(errors="replace").splitlines()[:3]):
                yield f"{file}: no '{SPDX}' in its first three lines"


def places(top):
    """Nothing in the tree depends on, or speaks of, one machine."""
    for file in files(top):
        path = top / file
        if file.suffix in TEXT or is_script(path):
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if PLACES.search(line):
                    yield f"{file}:{number}: {line.strip()[:100]}"


def links(top):
    """Relative links of the documents lead somewhere."""
    for file in files(top):
        if file.suffix != ".md":
            continue
        text = re.sub(r"```.*?```", "", (top / file).read_text(), flags=re.S)
        for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
            if not re.match(r"\w+:", target) and not ((top / file).parent / target).exists():
                yield f"{file}: link to '{target}' leads nowhere"


def names(top):
    """A name of a type belongs to one header: whoever includes two of them would not compile."""
    defined = {}
    for file in files(top):
        if file.parts[:2] != ("src", "invar") or file.suffix != ".hpp":
            continue
        space = ""
        for number, line in enumerate((top / file).read_text().splitlines(), 1):
            if opened := re.match(r"namespace ([\w:]+) \{", line):
                space = opened[1]
            made = re.match(r"(?:struct|class|enum class) (\w+)\b(?!::)[^;]*$", line)
            if not made:
                continue
            first = defined.setdefault((space, made[1]), file)
            if first != file:
                yield f"{file}:{number}: {space}::{made[1]} is in {first} already"


def kinds(top):
    """Only descriptions of mechanisms name a kind of joint; who computes asks the joint's facts."""
    for file in files(top):
        if file.suffix not in {".cpp", ".hpp"} or file.parts[0] not in ("src", "cli") or file.parts[2:3] in (("model",), ("io",)):
            continue
        for number, line in enumerate((top / file).read_text().splitlines(), 1):
            if re.search(r"\bJointKind::", line):
                yield f"{file}:{number}: names a kind of joint: ask its facts (invar/model/joint/facts.hpp)"


RULES = {rule.__name__: rule for rule in (rooms, spdx, places, links, names, kinds)}
# Files for each rule that break it (name, text), and nothing else.
TWICE = f"// {SPDX}\nnamespace invar {{\nstruct Same {{\n}};\n}}\n"
PLANTED = {
    "rooms": [("src/invar/geom/bad.hpp", f'// {SPDX}\n#include "invar/model/model.hpp"\n')],
    "spdx": [("src/invar/geom/bad.hpp", "#pragma once\n")],
    "places": [("docs/bad.md", "Look into /" + "home/somebody/models.\n")],
    "links": [("docs/bad.md", "See [the other page](nowhere.md).\n")],
    "names": [("src/invar/geom/one.hpp", TWICE), ("src/invar/geom/other.hpp", TWICE)],
    "kinds": [("src/invar/geom/bad.cpp", f"// {SPDX}\nbool turns(JointKind kind) {{ return kind == JointKind::Revolute; }}\n")],
}


def plant(rule):
    """The planted fault is found by its rule, and by no other."""
    with tempfile.TemporaryDirectory() as folder:
        top = pathlib.Path(folder)
        for name, text in PLANTED[rule]:
            (top / name).parent.mkdir(parents=True, exist_ok=True)
            (top / name).write_text(text)
        found = {other: list(check(top)) for other, check in RULES.items()}
    wrong = [other for other in RULES if (len(found[other]) == 1) != (other == rule)]
    return [f"planted in '{rule}', but '{other}' found {found[other]}" for other in wrong]


def main():
    if sys.argv[1] == "--plant":
        faults = plant(sys.argv[2])
    else:
        faults = list(RULES[sys.argv[1]](pathlib.Path(sys.argv[2])))
    print("\n".join(faults) if faults else "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
