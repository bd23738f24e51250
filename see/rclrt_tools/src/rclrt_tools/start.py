# Copyright 2026 The rclrt Authors
# SPDX-License-Identifier: Apache-2.0
"""Starts the verbs, with modules of this tree, of Python, or of a folder that PYTHONPATH names.

`python3 -I start.py VERB...`: -I leaves out the user's current folder, whose files may have the
names of modules. An empty or relative entry of PYTHONPATH would bring it back, so those are left
out. The others come last: ROS 2 is there, but nothing there stands in for what the verbs bring.
"""

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).resolve()
    # In this tree the library lies in another folder; installed, beside this package, where this
    # Python may look (but last: other packages are there, too), or may not.
    library = here.parents[4] / "prove/rclrt_analysis/src"
    if library.exists():
        sys.path[:0] = map(str, (here.parents[1], library))
    elif str(here.parents[1]) not in sys.path:
        sys.path.append(str(here.parents[1]))
    sys.path += filter(os.path.isabs, os.environ.get("PYTHONPATH", "").split(":"))
    from rclrt_tools.cli import main

    sys.exit(main())
