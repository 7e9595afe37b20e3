#!/usr/bin/env bash
# A thread that feeds a widget ends with a LookupError on ipykernel 7.0: between 6.31 and 7.1 no thread can write to a comm.
#
# Versions: ipykernel 7.0.0 and 7.0.1 behave so; 6.31.0, 7.1.0 and 7.4.0 don't; jupyter_client 8.10.0. Tried with Python 3.11.
# The 7 series keeps the message being answered in a context variable. A comm's `send` asks for it, and in 7.0 it has no value in a
# thread that a cell begins (later releases set it there). The chart, bar or table simply stops: what a thread raises
# goes to stderr of a cell that is over by then. The main release with subshells, under which such a view's buttons work while a
# cell runs, is the one in which the view itself doesn't.
# Seen: of 5 messages that a thread sends while a cell sleeps, clients get 5 with 6.31.0, 0 with 7.0.1, 5 with 7.1.0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/feed.py" <<'PYTHON'
import sys

from jupyter_client.manager import KernelManager

FEED = """
import threading
from comm import create_comm
feed = create_comm(target_name='feed')
def run():
    for i in range(5):
        feed.send({'i': i})
started = threading.Thread(target=run, daemon=True)
"""
manager = KernelManager(kernel_name="python3", transport="ipc")
manager.kernel_cmd = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
manager.start_kernel()
client = manager.client()
client.start_channels()
client.wait_for_ready(timeout=60)
got = []


def count(message):
    if message["msg_type"] == "comm_msg":
        got.append(message["content"]["data"]["i"])


client.execute_interactive(FEED, timeout=60, output_hook=count)
client.execute_interactive("started.start(); started.join()", timeout=60, output_hook=count)
print(len(got))
client.stop_channels()
manager.shutdown_kernel(now=True)
PYTHON
tried() {  # VERSION: how many messages of a thread arrive
  python3 -m venv "$folder/$1"
  "$folder/$1/bin/pip" install -q --disable-pip-version-check "ipykernel==$1" jupyter_client==8.10.0
  (cd "$folder" && "$folder/$1/bin/python" "$folder/feed.py" 2>"$folder/$1/told")
}
old=$(tried 6.31.0)
one=$(tried 7.0.1)
next=$(tried 7.1.0)
echo "messages of a thread: $old with ipykernel 6.31.0, $one with 7.0.1, $next with 7.1.0"
[ "$old $one $next" = "5 0 5" ] || { echo "it has changed"; exit 1; }
