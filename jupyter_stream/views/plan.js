// The page's half of a plan view: shows the picture it is sent, tells which box was clicked. The picture is SVG whose every
// text the kernel has escaped; everything else goes in as text nodes. A new picture changes the old one's elements and does not
// replace them: what somebody presses, points at, has marked or is typing into stays where it is.

const PAGE_NAME = Math.random().toString(36).slice(2);

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

function settings(parent, list) {
  for (const [name, value, words] of list) {
    const form = element("form", parent);
    form.title = words;
    const label = element("label", form, `${name} `);
    const input = element("input", label);
    input.setAttribute("value", value);
    input.name = name;
    element("button", form, "set").type = "submit";
  }
}

const typed = new WeakSet(); // fields with something that is not sent yet

function become(old, made) {
  for (const { name } of [...old.attributes]) if (!made.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of made.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old.nodeName === "INPUT" && !typed.has(old) && old.value !== made.value) old.value = made.value;
  const parts = [...made.childNodes];
  parts.forEach((part, i) => {
    const mine = old.childNodes[i];
    if (!mine) old.append(part);
    else if (mine.nodeName !== part.nodeName || mine.dataset?.node !== part.dataset?.node) mine.replaceWith(part);
    else if (part.nodeType === Node.ELEMENT_NODE) become(mine, part);
    else if (mine.data !== part.data) mine.data = part.data;
  });
  while (old.childNodes.length > parts.length) old.lastChild.remove();
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
  let onScreen = false; // the observer says so before the first frame
  const say = (message) => {
    try { model.send({ ...message, page: PAGE_NAME, seen: onScreen && !document.hidden }); } catch { /* the kernel has gone: the last picture stays */ }
  };
  const looked = () => say({ say: "alive" });
  const seen = new IntersectionObserver((entries) => {
    onScreen = entries[entries.length - 1].isIntersecting;
    looked();
  }, { rootMargin: "200px" });
  seen.observe(root);
  document.addEventListener("visibilitychange", looked);
  picture.addEventListener("click", (event) => {
    const box = event.target.closest("[data-node]");
    if (!box) return;
    if (panel.contains(document.activeElement)) document.activeElement.blur();
    say({ say: "look", node: box.dataset.node });
  });
  panel.addEventListener("input", (event) => typed.add(event.target));
  panel.addEventListener("submit", (event) => {
    event.preventDefault();
    const [input] = event.target.elements;
    typed.delete(input);
    say({ say: "set", name: input.name, value: input.value });
  });
  let shown = null; // the node in the panel
  let said = ""; // the summary
  let gone = false; // whether the kernel has
  const sum = () => { summary.textContent = gone ? `${said} · kernel gone: run the cell again` : said; };
  const show = (message) => {
    said = message.summary;
    sum();
    const drawn = document.createElement("div");
    drawn.className = picture.className;
    drawn.innerHTML = message.svg;
    become(picture, drawn);
    const node = message.node;
    const typing = panel.contains(document.activeElement) && document.activeElement.tagName === "INPUT";
    if (!node || (typing && node.id !== shown)) return; // nobody's typing is taken away
    const told = panel.cloneNode(false);
    element("b", told, node.title);
    table(told, [], node.attributes);
    settings(told, node.settings);
    if (message.said) element("div", told, message.said).className = "jupyter-stream-plan-said";
    for (const rows of node.tables) {
      element("div", told, rows.title).className = "jupyter-stream-plan-heading";
      if (rows.rows.length) table(told, rows.names, rows.rows);
    }
    if (node.id === shown) become(panel, told);
    else panel.replaceChildren(...told.childNodes);
    shown = node.id;
  };
  // While a mouse button or a finger is down nothing moves: a press and its release on two elements are no click.
  let pressed = false;
  let newest = null;
  root.addEventListener("pointerdown", (event) => { pressed = event.button === 0; });
  const released = () => {
    pressed = false;
    setTimeout(() => { if (newest && !pressed) { show(newest); newest = null; } }); // after the click
  };
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, released);
  const take = (message) => {
    if (message.do !== "plan") return;
    if (gone === "cut") gone = false;
    if (pressed) newest = message;
    else show(message);
  };
  model.on("msg:custom", take);
  const lost = (known) => {
    gone = known ? "known" : gone || "cut";
    if (gone === "cut") say({ say: "hello" }); // of a query that has ended nothing else would come
    root.dataset.state = "gone";
    // with nothing to show of its own it leaves the place to the picture in the file
    if (!said) { root.className = ""; root.style.display = "none"; }
    sum();
  };
  const end = whenGone(model, lost);
  say({ say: "hello" });
  const timer = setInterval(looked, 20_000);
  return () => {
    end();
    clearInterval(timer);
    seen.disconnect();
    document.removeEventListener("visibilitychange", looked);
    for (const end of ["pointerup", "pointercancel"]) window.removeEventListener(end, released);
    model.off("msg:custom", take);
  };
}

export default { initialize({ model }) { hear(model); }, render };
