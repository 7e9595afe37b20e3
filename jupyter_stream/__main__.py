"""`python -m jupyter_stream run FILE`."""

import sys

from jupyter_stream.jobs.command import main

if __name__ == "__main__":
    sys.exit(main())
