// Lets a widget hear the kernel however long its module took to load. Goes before a widget's own code (`widget.py`).

// anywidget gives a module two seconds; when a busy page needs more, `_handle_comm_msg` waits for a promise that was broken, and the
// widget never hears a message again. This code runs once the module is there, so there is nothing left to wait for: messages
// go straight to the class above anywidget's.
async function hear(model) {
  const whole = await model.widget_manager?.get_model?.(model.get("own_id"));
  const take = whole && Object.getPrototypeOf(whole.constructor.prototype)._handle_comm_msg;
  if (take) whole.comm?.on_msg((message) => take.call(whole, message));
}

// Tells when the kernel behind a widget has gone: restarted, dead or shut down, or there was none when the notebook was opened.

const KERNEL_GONE = new Set(["restarting", "autorestarting", "starting", "terminating", "dead"]); // "starting": another one in its place

function whenGone(model, tell) {
  const ends = [];
  let over = false;
  (async () => {
    const whole = await model.widget_manager?.get_model?.(model.get("own_id"));
    if (!whole || over) return;
    const cut = () => { if (whole.comm_live === false) tell(false); };
    whole.on?.("comm_live_update", cut);
    ends.push(() => whole.off?.("comm_live_update", cut));
    const kernel = whole.widget_manager?.kernel; // JupyterLab and Notebook know theirs
    const became = (_kernel, status) => { if (KERNEL_GONE.has(status)) tell(true); };
    // Where somebody else restarts the kernel, its "starting" may be lost, and what follows says nothing of it. But each
    // process signs what it sends with a session of its own. A status that answers nothing may be the server's.
    let process = null;
    const spoke = (_kernel, { header, parent_header: asked }) => {
      if (header.msg_type === "status" && !asked?.msg_id) return;
      if (process !== null && header.session !== process) tell(true);
      process = header.session;
    };
    for (const [signal, call] of [[kernel?.statusChanged, became], [kernel?.iopubMessage, spoke]]) {
      signal?.connect(call);
      ends.push(() => signal?.disconnect(call));
    }
    cut();
  })();
  return () => { over = true; for (const end of ends) end(); };
}
