#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether two files say the same: words alike, numbers within one unit of their last digit.

The last bit of a logarithm differs between processors, and now and then turns a digit that is
rounded for print. Blanks that align columns follow the numbers and do not count.
usage: same_text.py ONE OTHER; exit code 1 when they differ
"""
import re
import sys
from decimal import Decimal

NUMBER = re.compile(r"(?<![A-Za-z0-9_.])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def unit(text):
    return Decimal(1).scaleb(Decimal(text).as_tuple().exponent)


def same_line(one, other):
    words = [re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip() for line in (one, other)]
    if words[0] != words[1]:
        return False
    pairs = zip(NUMBER.findall(one), NUMBER.findall(other))
    # Whole numbers count things; only what has a fraction was rounded.
    return all(
        a == b
        or ("." in a + b and abs(Decimal(a) - Decimal(b)) <= max(unit(a), unit(b)))
        for a, b in pairs
    )


def main():
    with open(sys.argv[1], encoding="utf-8") as one, open(sys.argv[2], encoding="utf-8") as other:
        lines = [one.read().splitlines(), other.read().splitlines()]
    same = len(lines[0]) == len(lines[1]) and all(map(same_line, *lines))
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
