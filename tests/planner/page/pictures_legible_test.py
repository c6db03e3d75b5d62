#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Labels of pictures: none lies on another, outside of its picture, or under a line that is drawn after it.

usage: pictures_legible_test.py FORETRAIN_PROGRAM REPOSITORY_ROOT [FILE...]
With FILEs (pages or SVG) these are measured, else the pages and pictures that the commands below write.
"""

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

# Widths of DejaVu Sans in em, the widest of the fonts that pictures ask for.
NARROW = dict.fromkeys("iljI.,:;'|!()[]-", 0.37) | {" ": 0.32, "f": 0.35, "t": 0.39, "r": 0.41}
WIDE = dict.fromkeys("mwMW%@", 0.95) | {"/": 0.34}


# Of grids, and hairs of ground between the parts of a bar.
PALE = ("#ffffff", "#e6eaef", "#dddddd", "#e2e2e2", "#d4d4d4", "#eeeeee")


def em(text):
    return sum(NARROW.get(c) or WIDE.get(c) or (0.7 if c.isupper() else 0.62) for c in text)


def number(node, name, default=0.0):
    return float(node.get(name, default))


class Box:
    def __init__(self, left, top, right, bottom, what):
        self.sides = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
        self.what = what

    def overlap(self, other):
        """How far they reach into each other, in pixels."""
        a, b = self.sides, other.sides
        return min(min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1]))

    def outside(self, width, height):
        left, top, right, bottom = self.sides
        return max(-left, -top, right - width, bottom - height)


def moved(node, at):
    """Where a point is after the node's own transform, which is a shift or a turn by a quarter."""
    text = node.get("transform", "")
    if match := re.match(r"translate\(([-\d.]+)[ ,]([-\d.]+)\)", text):
        return at[0] + float(match[1]), at[1] + float(match[2])
    if match := re.match(r"rotate\(-90 ([-\d.]+) ([-\d.]+)\)", text):
        x, y = float(match[1]), float(match[2])
        return x + (at[1] - y), y - (at[0] - x)
    assert not text, f"unknown transform {text}"
    return at


def text_box(node, size):
    words = "".join(node.itertext())
    width = em(words) * size * (1.08 if node.get("font-weight") == "bold" else 1.0)
    x, y = number(node, "x"), number(node, "y")
    left = x - {"middle": 0.5, "end": 1.0}.get(node.get("text-anchor"), 0.0) * width
    a = moved(node, (left, y - 0.74 * size))
    b = moved(node, (left + width, y + 0.2 * size))
    return Box(*a, *b, words)


def line_boxes(node):
    """Stretches of a line or of the outline that are level or upright: those that strike a word."""
    tag = node.tag.split("}")[-1]
    if tag == "line":
        points = [(number(node, "x1"), number(node, "y1")), (number(node, "x2"), number(node, "y2"))]
    elif tag == "polyline":
        values = [float(v) for v in re.findall(r"-?[\d.]+", node.get("points", ""))]
        points = list(zip(values[::2], values[1::2]))
    elif tag == "rect" and node.get("fill") != "none" and not str(node.get("width")).endswith("%"):
        x, y = number(node, "x"), number(node, "y")
        yield Box(x, y, x + number(node, "width"), y + number(node, "height"), "a bar")
        return
    else:
        return
    for (x1, y1), (x2, y2) in zip(points, points[1:]):
        steps = max(1, int(max(abs(x2 - x1), abs(y2 - y1)) // 4)) if x1 != x2 and y1 != y2 else 1
        for i in range(steps):
            a, b = i / steps, (i + 1) / steps
            yield Box(x1 + (x2 - x1) * a, y1 + (y2 - y1) * a, x1 + (x2 - x1) * b, y1 + (y2 - y1) * b, "a line")


def problems(svg, halo):
    """Of one picture. On a page words have a halo of the ground, so that lines before them are no harm."""
    left, top, width, height = (float(v) for v in svg.get("viewBox").split())
    assert left == top == 0
    texts, strokes, found = [], [], []

    def strike(stroke, box):
        inner = Box(box.sides[0] + 1, box.sides[1] + 2, box.sides[2] - 1, box.sides[3] - 2, "")
        if inner.overlap(stroke) >= (0.0 if stroke.what == "a line" else 1.5):
            found.append(f"{stroke.what} is drawn over '{box.what}'")

    def visit(node, size):
        size = float(node.get("font-size", size))
        tag = node.tag.split("}")[-1]
        if tag == "text":
            box = text_box(node, size)
            if box.outside(width, height) > 1.0:
                found.append(f"'{box.what}' reaches {box.outside(width, height):.0f} pixels out of {width:g} x {height:g}")
            for other in texts:
                if box.overlap(other) > 1.0:
                    found.append(f"'{box.what}' lies on '{other.what}' ({box.overlap(other):.1f} pixels)")
            texts.append(box)
            for stroke in strokes:
                strike(stroke, box)
            return
        for stroke in line_boxes(node):
            for box in texts:
                strike(stroke, box)
            if not halo and stroke.what == "a line" and node.get("stroke") not in PALE:
                strokes.append(stroke)
        for child in node:
            visit(child, size)

    visit(svg, 12.0)
    return found


def pictures(file):
    with open(file, encoding="utf-8") as text:
        words = text.read()
    if file.endswith(".svg"):
        return [words[words.index("<svg"):]]
    return re.findall(r'<div class="chart drawn">(<svg .*?</svg>)</div>', words, re.S)


COMMANDS = """
compare {s}/llama3-8b-8xh100.yaml --set B:parallel.zero=2 --html compare.html
fit {s}/deepseek-v3-256xgb200.yaml --html fit.html --svg fit.svg
fit {s}/llama3.1-405b-16384xh100.yaml --svg fit-405b.svg
goodput {s}/llama3.1-405b-16384xh100-operations.yaml --trials 20 --html goodput.html --svg goodput.svg
goodput {s}/llama2-70b-256xa100-year.yaml --trials 20 --html goodput-year.html
sensitivity {s}/llama2-70b-1024xh100.yaml --html sensitivity.html --svg sensitivity.svg
sweep {s}/llama3-8b-8xh100.yaml --vary parallel.zero=1,2,3 --html sweep.html
serve {s}/serving/gpt-oss-120b-1xh100.yaml --html serve.html
cluster {s}/clusters/smallest.yaml --html cluster.html --svg cluster.svg
cluster {s}/clusters/university.yaml --html teams.html
procure --cluster {s}/llama2-70b-1024xh100.yaml {s}/llama3-8b-8xh100.yaml --workload {s}/llama3-8b-8xh100.yaml --html procure.html
plan {s}/llama3-8b-8xh100.yaml --html plan.html
plan {s}/llama2-70b-1024xh100.yaml --gpus 512,1024 --top 30 --html machines.html
report {s}/llama2-70b-1024xh100.yaml --html report.html
validate --only time --source sc21 --html validate.html
simulate {s}/llama3-8b-8xh100.yaml --gantt step.svg
simulate {s}/llama2-70b-1024xh100.yaml --gantt step-70b.svg
simulate {s}/llama3-8b-8xh100.yaml --set cluster.hosts=4 --set parallel.data=16 --engine event --heat heat.svg
show fabric {s}/llama2-70b-1024xh100.yaml --svg fabric.svg
validate --accuracy --figure left_out.svg
"""


def main():
    program, root, *files = sys.argv[1:]
    program, root = os.path.abspath(program), os.path.abspath(root)
    if not files:
        os.chdir(tempfile.mkdtemp())
        scenarios = os.path.join(root, "scenarios")
        for command in COMMANDS.strip().splitlines():
            words = [word.format(s=scenarios) for word in command.split()]
            done = subprocess.run([program, *words], capture_output=True, text=True)
            assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stderr}"
        files = sorted(os.listdir("."))
    drawn = failures = 0
    for file in files:
        for svg in pictures(file):
            drawn += 1
            # Labels in links and the like have names of no schema.
            svg = re.sub(r"&(?!amp;|lt;|gt;|quot;|#)", "&amp;", svg)
            for problem in problems(tree.fromstring(svg), file.endswith(".html")):
                failures += 1
                print(f"{file}: {problem}")
    print(f"{drawn} pictures in {len(files)} files, {failures} problems")
    return 1 if failures or drawn < 8 else 0


if __name__ == "__main__":
    sys.exit(main())
