// A live view on a page of its own: the same code as in a notebook, told by a WebSocket what a kernel's comm would tell it.
// `views/live.js` stands before it.

const listeners = new Set();
let socket = null;
let waiting = null; // a message whose buffers are still to come
let buffers = [];

const model = {
  get: (name) => ({ key: "page", bokeh: document.body.dataset.bokeh, reader: true })[name],
  send: (message) => { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message)); },
  on: (_event, call) => { listeners.add(call); },
  off: (_event, call) => { listeners.delete(call); },
};

function take(message) {
  const got = buffers;
  waiting = null;
  buffers = [];
  for (const call of listeners) call(message, got);
}

function connect() {
  const address = new URL(`${location.pathname}/live${location.search}`, location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => { waiting = null; buffers = []; PAGE.stores.get("page")?.hello(); };
  socket.onmessage = ({ data }) => {
    if (typeof data === "string") { waiting = JSON.parse(data); buffers = []; } else buffers.push(new DataView(data));
    if (waiting && buffers.length === waiting.count) take(waiting.message);
  };
  socket.onclose = () => setTimeout(connect, 2000); // the server may come back; meanwhile the view says that nothing comes
}

live.initialize({ model });
live.render({ model, el: document.getElementById("view") });
connect();
