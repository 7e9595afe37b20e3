"""What a page makes of what it hears of the kernel: `heard.js` in a page without a kernel."""

import pytest

from jupyter_stream.views.widget import HEARD_JS

CALLS = """async (calls) => {
  const signal = () => {
    const heard = new Set();
    return { connect: c => heard.add(c), disconnect: c => heard.delete(c), say: word => heard.forEach(c => c(kernel, word)) };
  };
  const kernel = { statusChanged: signal(), iopubMessage: signal() };
  const whole = { comm_live: true, on() {}, off() {}, widget_manager: { kernel } };
  const model = { get: () => "id", widget_manager: { get_model: async () => whole } };
  const told = [];
  const end = whenGone(model, known => told.push(known));
  await new Promise(done => setTimeout(done));
  for (const [name, word] of calls) name === "end" ? end() : kernel[name].say(word);
  return told;
}"""


def status(session, asked="q"):
    parent = {"msg_id": asked} if asked else {}
    return "iopubMessage", {"header": {"msg_type": "status", "session": session}, "parent_header": parent}


def message(session):
    return "iopubMessage", {"header": {"msg_type": "comm_msg", "session": session}, "parent_header": {}}


@pytest.mark.parametrize(
    ("calls", "told"),
    [
        ([status("old"), message("old"), status("old"), message("old")], []),
        ([message("old"), status("new")], [True]),  # its own "starting" was lost
        ([status("old"), message("new"), message("new")], [True]),
        ([message("old"), status("server", asked=None), message("old")], []),
        ([("statusChanged", "busy"), ("statusChanged", "idle")], []),
        ([("statusChanged", "starting")], [True]),
        ([message("old"), ("end", None), message("new"), ("statusChanged", "dead")], []),
    ],
)
def test_another_kernel_in_its_place_is_known_by_its_session_whether_or_not_it_was_heard_to_start(
    chromium, calls, told
):
    page = chromium.new_page()
    page.add_script_tag(content=HEARD_JS)
    assert page.evaluate(CALLS, calls) == told
    page.close()
