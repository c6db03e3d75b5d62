# SPDX-License-Identifier: Apache-2.0
"""`python3 -m foretrain simulate run.yaml`: the program's commands where only the package is there."""

import sys

from . import _core
from ._errors import Error


def main() -> int:
    words = sys.argv[1:]
    try:
        text = sys.stdin.read() if "-" in words else ""
        code, output, lines = _core.run(words, text)
    except Error as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    sys.stdout.write(output)
    for line in lines:
        print(line, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
