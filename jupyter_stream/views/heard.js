// Lets a widget hear the kernel however long its module took to load. Goes before a widget's own code (`widget.py`).

// anywidget gives a module two seconds; when a busy page needs more, `_handle_comm_msg` waits for a promise that was broken, and the
// widget never hears a message again. This code runs once the module is there, so there is nothing left to wait for: messages
// go straight to the class above anywidget's.
async function hear(model) {
  const whole = await model.widget_manager?.get_model?.(model.get("own_id"));
  const take = whole && Object.getPrototypeOf(whole.constructor.prototype)._handle_comm_msg;
  if (take) whole.comm?.on_msg((message) => take.call(whole, message));
}
