#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs and plug-ins of this build are hardened, as the packages' test asks (deb_check.py).

usage: hardening_test.py FILE...   Exit status 77: there is no readelf.
"""
import shutil
import sys

import deb_check


def main():
    if shutil.which("readelf") is None:
        sys.exit(77)
    for path in sys.argv[1:]:
        deb_check.check_hardening("this build", path)
        print(f"{path}: hardened")


if __name__ == "__main__":
    main()
