// The page's half of a plan view: shows the picture it is sent, tells which box was clicked. The picture is SVG whose every
// text the kernel has escaped; everything else goes in as text nodes.

function element(name, parent, text) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function table(parent, names, rows) {
  const made = element("table", parent);
  if (names.length) {
    const head = element("tr", element("thead", made));
    for (const name of names) element("th", head, name);
  }
  const body = element("tbody", made);
  for (const row of rows) {
    const line = element("tr", body);
    for (const value of row) element("td", line, value);
  }
}

function settings(parent, list, say) {
  for (const [name, value, words] of list) {
    const form = element("form", parent);
    form.title = words;
    const label = element("label", form, `${name} `);
    const input = element("input", label);
    input.value = value;
    input.name = name;
    element("button", form, "set").type = "submit";
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      input.blur();
      say({ say: "set", name, value: input.value });
    });
  }
}

function render({ model, el }) {
  const root = document.createElement("div");
  root.className = `jupyter-stream-plan ${model.get("live_class")}`;
  el.append(root);
  const summary = element("div", root);
  const body = element("div", root);
  body.className = "jupyter-stream-plan-body";
  const picture = element("div", body);
  picture.className = "jupyter-stream-plan-picture";
  const panel = element("div", body);
  panel.className = "jupyter-stream-plan-panel";
  panel.dataset.lmSuppressShortcuts = "true"; // keys typed into a field are no commands of the notebook
  panel.textContent = "Click a box to look into it.";
  const say = (message) => { try { model.send(message); } catch { /* the kernel has gone: the last picture stays */ } };
  picture.addEventListener("click", (event) => {
    const box = event.target.closest("[data-node]");
    if (box) say({ say: "look", node: box.dataset.node });
  });
  const take = (message) => {
    if (message.do !== "plan") return;
    summary.textContent = message.summary;
    picture.innerHTML = message.svg;
    const node = message.node;
    const typing = panel.contains(document.activeElement) && document.activeElement.tagName === "INPUT";
    if (!node || typing) return; // nobody's typing is taken away
    panel.textContent = "";
    element("b", panel, node.title);
    table(panel, [], node.attributes);
    settings(panel, node.settings, say);
    if (message.said) element("div", panel, message.said).className = "jupyter-stream-plan-said";
    for (const shown of node.tables) {
      element("div", panel, shown.title).className = "jupyter-stream-plan-heading";
      if (shown.rows.length) table(panel, shown.names, shown.rows);
    }
  };
  model.on("msg:custom", take);
  say({ say: "hello" });
  const timer = setInterval(() => say({ say: "alive" }), 20_000);
  return () => { clearInterval(timer); model.off("msg:custom", take); };
}

export default { render };
