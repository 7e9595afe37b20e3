// The page's half of a live view. Keeps the newest state it was sent and draws it; decides nothing about the query.
// All text goes in as text nodes. `bokeh.js`, `table.js` and `plot.js` stand before it.

const ENDED = new Set(["finished", "stopped", "failed"]);
const ALIVE_EVERY = 20_000;
const SILENCE = 3_000; // the kernel sends something every second while the query runs and is looked at

// ---- what the kernel sent: one store per model, read by any number of views

class Store {
  constructor(model, key) {
    this.model = model;
    this.key = key;
    this.version = model.get("bokeh");
    this.still = Boolean(model.get("still")); // a page without a kernel
    this.reader = Boolean(model.get("reader")); // a page that may look on, and no more
    this.head = null;
    this.columns = {};
    this.doc = null;
    this.docNumber = 0;
    this.seq = -1;
    this.views = new Set();
    this.seen = false;
    this.gone = false; // whether the kernel has: nothing comes any more
    this.onMessage = (message, buffers) => this.take(message, buffers);
    model.on("msg:custom", this.onMessage);
    this.hello();
    this.heard = Date.now();
    this.timer = setInterval(() => this.say({ say: "alive" }), ALIVE_EVERY);
    this.look = () => this.looked();
    document.addEventListener("visibilitychange", this.look);
    this.wasSilent = false;
    this.tried = 0; // when it last called into a silence
    this.watch = setInterval(() => this.watched(), 500);
  }

  get silent() {
    if (this.still || !this.seen || this.head === null || ENDED.has(this.head.state)) return false;
    return Date.now() - Math.max(this.heard, this.seenSince) > SILENCE;
  }

  watched() {
    // another kernel in its place answers that it has heard, and is known by it
    if (this.silent && Date.now() - this.tried > SILENCE) { this.tried = Date.now(); this.say({ say: "alive" }); }
    if (this.silent === this.wasSilent) return;
    this.wasSilent = this.silent;
    for (const view of this.views) redraw(view);
  }

  // `known`: the front end says so itself; else only the line to the kernel was cut, and a message shows that it was not for long.
  lost(known) {
    if (this.still) return;
    this.gone = known ? "known" : this.gone || "cut";
    if (this.gone === "cut") this.hello(); // of a query that has ended nothing else would come
    for (const view of this.views) redraw(view);
  }

  // Views nobody sees are sent to seldom.
  looked() {
    const seen = !document.hidden && [...this.views].some((view) => view.onScreen);
    if (seen === this.seen) return;
    this.seen = seen;
    this.seenSince = Date.now();
    this.say({ say: "alive" });
  }

  say(message) {
    try { this.model.send({ ...message, page: PAGE.name, seen: this.seen }); } catch { /* the kernel has gone: the last state stays on screen */ }
  }

  hello() {
    const slot = bokehSlot(this.version);
    const need = !slot.taken && Date.now() - slot.asked > 5000;
    if (need) slot.asked = Date.now();
    this.say({ say: "hello", library: need });
    // the first message may still go to the main shell, which may be running a cell; by now there is a subshell
    if (need) setTimeout(() => { if (!slot.taken) this.say({ say: "library" }); }, 400);
  }

  take(message, buffers) {
    this.heard = Date.now();
    if (this.gone === "cut") this.gone = false;
    if (message.do === "library") {
      takeLibrary(message.version, buffers[0]);
    } else if (message.do === "refuse") {
      if (this.head) this.head = { ...this.head, error: message.text };
      for (const view of this.views) redraw(view);
    } else if (message.do === "save") {
      download(message.name, message.type, buffers[0]);
    } else if (message.do === "state") {
      if (!message.fresh && message.seq !== this.seq + 1) {
        if (this.seq >= 0 || this.head === null) this.hello();
        this.seq = -1;
        return;
      }
      this.seq = message.seq;
      this.head = message.fresh ? message.head : { ...this.head, ...message.head };
      if (message.fresh) {
        this.columns = {};
        if (!bokehSlot(this.version).taken && message.head?.kind === "plot") this.askAgain();
      }
      if ("doc" in message) { this.doc = message.doc; this.docNumber += 1; }
      for (const name of message.gone ?? []) delete this.columns[name];
      for (const [name, change] of Object.entries(message.columns ?? {})) {
        this.columns[name] = merge(this.columns[name], change, buffers);
      }
      for (const view of this.views) redraw(view);
    }
  }

  askAgain() {
    const slot = bokehSlot(this.version);
    if (Date.now() - slot.asked > 5000) { slot.asked = Date.now(); this.say({ say: "library" }); }
  }

  dispose() {
    clearInterval(this.timer);
    clearInterval(this.watch);
    document.removeEventListener("visibilitychange", this.look);
    this.model.off("msg:custom", this.onMessage);
    PAGE.stores.delete(this.key);
  }
}

function download(name, type, bytes) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([bytes], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function numbers(buffer, type) {
  const bytes = new Uint8Array(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength);
  return new type(bytes.slice().buffer);
}

function merge(old, change, buffers) {
  if ("offsets" in change) {
    const values = numbers(buffers[change.at], Float64Array);
    const offsets = numbers(buffers[change.offsets], Int32Array);
    return Array.from({ length: offsets.length - 1 }, (_, i) => values.subarray(offsets[i], offsets[i + 1]));
  }
  const text = "words" in change ? Array.from(numbers(buffers[change.at], Uint16Array), (i) => change.words[i]) : change.text;
  const fresh = text ?? numbers(buffers[change.at], Float64Array);
  if (!("drop" in change)) return fresh;
  const kept = text ? old.slice(change.drop) : old.subarray(change.drop);
  if (text) return kept.concat(fresh);
  const joined = new Float64Array(kept.length + fresh.length);
  joined.set(kept);
  joined.set(fresh, kept.length);
  return joined;
}

// ---- drawing: views on screen only, never more than a quarter of the page's time for all views together, and while
// something scrolls seldom; but what has not been drawn yet waits for nothing

const SCROLLING = 150; // milliseconds since the last step of it
const PATIENCE = 700; // milliseconds without a picture while it lasts
const REST = 3; // for each millisecond of drawing: a cell's answer waits in the same queue

function redraw(view) {
  PAGE.dirty.add(view);
  if (!PAGE.scrolled) {
    PAGE.scrolled = -Infinity;
    document.addEventListener("scroll", () => { PAGE.scrolled = performance.now(); }, { capture: true, passive: true });
  }
  if (!PAGE.frame) PAGE.frame = requestAnimationFrame(drawSome);
}

function drawSome(now) {
  PAGE.frame = 0;
  const start = performance.now();
  const still = now < PAGE.resting || (start - PAGE.scrolled < SCROLLING && start - PAGE.rested < PATIENCE);
  let drew = false;
  for (const view of [...PAGE.dirty]) {
    if (!view.onScreen || (still && view.drawn)) continue;
    PAGE.dirty.delete(view);
    view.draw();
    drew = true;
    if (performance.now() - start > 20) break;
  }
  if (drew) rest(performance.now() - start);
  if ([...PAGE.dirty].some((view) => view.onScreen)) PAGE.frame = requestAnimationFrame(drawSome);
}

// Drawing is filling the models, and in the next frame Bokeh's painting and the browser's.
function rest(spent) {
  PAGE.resting = Infinity;
  requestAnimationFrame((begun) => {
    setTimeout(() => {
      PAGE.rested = performance.now();
      PAGE.resting = PAGE.rested + REST * (PAGE.rested - begun + spent);
    });
  });
}

class View {
  constructor(store, el, link = new Link(), height = null) {
    this.store = store;
    this.link = link;
    this.height = height;
    this.plots = [];
    this.hidden = new Set();
    this.hiddenCount = 0;
    this.onScreen = false; // the observer says so before the first frame
    this.filled = false; // since its figures were built
    this.drawnDoc = 0;
    this.root = make("div", "jupyter-stream-live", el);
    this.root.dataset.key = store.key;
    const strip = make("div", "js-strip", this.root);
    this.name = make("span", "js-name", strip);
    this.state = make("span", "js-state", strip);
    const buttons = make("span", "js-buttons", strip);
    this.pauseButton = this.button(buttons, "Pause", () => (this.store.head?.state === "paused" ? "resume" : "pause"));
    this.stopButton = this.button(buttons, "Stop", () => "stop");
    this.saveMenu = this.menu(buttons);
    this.readings = make("span", "js-readings", strip);
    this.legend = make("div", "js-legend", this.root);
    this.stage = make("div", "js-stage", this.root);
    this.plot = make("div", "js-plot", this.stage);
    this.table = new Table(this, this.stage);
    this.numbers = new Numbers(this, this.stage);
    this.empty = make("div", "js-empty", this.stage);
    this.tip = make("div", "js-tip", this.root);
    this.card = make("div", "js-tip js-card", this.root);
    this.note = make("div", "js-note", this.root);
    this.error = make("pre", "js-error", this.root);
    this.seen = new IntersectionObserver((entries) => {
      this.onScreen = entries[entries.length - 1].isIntersecting;
      if (this.onScreen) redraw(this);
      store.looked();
    }, { rootMargin: "200px" });
    this.seen.observe(this.root);
    const recolour = () => { this.night = this.colours = this.legendShape = null; redraw(this); };
    // the theme's style sheet may be there a little after the attribute that names it
    this.themed = new MutationObserver(() => { recolour(); setTimeout(recolour, 400); });
    this.themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"] });
    store.views.add(this);
    link.views.add(this);
    for (const el of [this.note, this.error, buttons]) el.style.display = "none";
    this.buttons = buttons;
    write(this.empty, "connecting to the kernel");
    redraw(this);
  }

  button(parent, label, what) {
    const button = make("button", "js-button", parent);
    button.type = "button";
    write(button, label);
    button.addEventListener("click", () => {
      this.store.say({ say: "press", what: what() });
      button.disabled = true;
      setTimeout(() => { button.disabled = false; redraw(this); }, 1500);
    });
    return button;
  }

  menu(parent) {
    const menu = make("select", "js-button js-save", parent);
    menu.title = "save what is shown";
    for (const [value, label] of [["", "Save as"], ["png", "PNG"], ["svg", "SVG"], ["html", "HTML"]]) {
      const option = make("option", "", menu);
      option.value = value;
      write(option, label);
    }
    menu.addEventListener("change", () => {
      this.store.say({ say: "save", format: menu.value, dark: this.dark() });
      menu.value = "";
    });
    return menu;
  }

  get kind() {
    const { head } = this.store;
    return !head || head.empty || !head.kind ? "" : head.kind;
  }

  get drawn() {
    return this.stage.dataset.kind === this.kind && (this.kind !== "plot" || this.filled);
  }

  // A colour as it is seen on this page.
  shade(colour) {
    return (this.night && NIGHT[colour]) || colour;
  }

  dark() {
    const [r, g, b] = getComputedStyle(this.root).color.match(/\d+/g).map(Number);
    return r + g + b > 382;
  }

  draw() {
    const head = this.store.head;
    // without a kernel and a picture of its own it leaves the place to the picture in the file
    this.root.classList.toggle("jupyter-stream-live", Boolean(head) || !this.store.gone);
    this.root.classList.toggle("js-nothing", !head && Boolean(this.store.gone));
    if (!head) return;
    this.night ??= this.dark();
    write(this.name, head.name);
    const ended = ENDED.has(head.state);
    const { silent } = this.store;
    const gone = Boolean(this.store.gone);
    const past = this.store.still && !ended;
    write(this.state, gone ? "kernel gone: run the cell again" : silent ? "no answer" : past ? `was ${head.state}` : head.state);
    this.state.title = gone ? "The kernel that ran this query was restarted or has ended, and the query's handle with it."
      : silent ? "Nothing has come from the kernel for 3 seconds: it may be busy, restarted or gone." : "";
    this.root.dataset.state = gone ? "gone" : silent ? "silent" : past ? "past" : head.state;
    this.root.dataset.rows = head.rowCount ?? 0;
    write(this.pauseButton, head.state === "paused" ? "Resume" : "Pause");
    if (this.pausedShown !== head.state) { this.pauseButton.disabled = false; this.pausedShown = head.state; }
    this.buttons.style.display = this.store.still || this.store.gone ? "none" : "";
    for (const button of [this.pauseButton, this.stopButton]) button.style.display = ended || head.state === "inactive" || this.store.reader ? "none" : "";
    this.drawReadings(head.readings, gone || silent);
    this.drawLegend(head);
    const held = this.link.held && head.x?.kind === "time" ? "zoomed: double-click to follow again" : "";
    const picked = head.picked ? `${head.name}.selected has ${head.picked} row${head.picked === 1 ? "" : "s"}` : "";
    const then = gone ? `${ended ? `${head.state}, ` : ""}as it was at ${new Date(this.store.heard).toLocaleString()}` : "";
    const note = [then, head.note, held, picked, head.hint].filter(Boolean).join(" · ");
    write(this.note, note);
    write(this.error, head.error ?? "");
    write(this.empty, head.empty ?? "");
    this.note.style.display = note ? "" : "none";
    this.error.style.display = head.error ? "" : "none";
    this.empty.style.display = head.empty ? "" : "none";
    const { kind } = this;
    this.stage.dataset.kind = kind;
    for (const [name, el] of [["plot", this.plot], ["table", this.table.el], ["number", this.numbers.el]]) {
      el.style.display = name === kind ? "" : "none";
    }
    if (kind === "plot") this.drawPlot(head);
    if (kind === "table") this.table.draw(head, this.store.columns);
    if (kind === "number") this.numbers.draw(head, this.store.columns);
  }

  drawReadings(readings, old) {
    while (this.readings.children.length > readings.length) this.readings.lastChild.remove();
    readings.forEach((reading, i) => {
      const el = this.readings.children[i] ?? make("span", "js-reading", this.readings);
      if (!el.firstChild) { make("span", "js-label", el); make("span", "js-value", el); }
      write(el.children[0], reading.label);
      write(el.children[1], old && reading.now ? "–" : reading.value);
      el.title = reading.title;
      el.dataset.label = reading.label;
      el.classList.toggle("js-alarm", reading.alarm);
    });
  }

  drawLegend(head) {
    const entries = [...(head.legend ?? [])];
    if (head.kind === "plot") entries.push(...(head.signs ?? []));
    const series = (head.legend ?? []).length;
    const shape = JSON.stringify([entries, head.scale]);
    if (this.legendShape !== shape) {
      this.legendShape = shape;
      this.legend.replaceChildren();
      entries.forEach(([label, colour], i) => {
        const el = make("span", "js-entry", this.legend);
        const swatch = make("span", i < series ? "js-swatch" : `js-swatch js-${colour}`, el);
        if (i < series) {
          swatch.style.background = this.shade(colour);
          el.classList.add("js-series-entry");
          el.addEventListener("click", () => this.toggle(colour));
        }
        write(make("span", "js-series", el), label);
        el.dataset.colour = colour;
        el.title = i < series ? `${label}: click to hide or show` : label;
      });
      if (head.scale) this.drawScale(head.scale);
    }
    for (const el of this.legend.children) el.classList.toggle("js-hidden", this.hidden.has(el.dataset.colour));
    this.legend.style.display = entries.length || head.scale ? "" : "none";
  }

  drawScale(scale) {
    const el = make("span", "js-entry js-scale", this.legend);
    write(make("span", "", el), `${scale.label}: ${scale.low}`);
    make("span", "js-gradient", el).style.background = `linear-gradient(to right, ${scale.colours.join(", ")})`;
    write(make("span", "", el), scale.high);
  }

  toggle(colour) {
    if (!this.hidden.delete(colour)) this.hidden.add(colour);
    this.hiddenCount += 1;
    this.draw();
  }

  get timeAxis() {
    const { head } = this.store;
    return head?.kind === "plot" && !head.empty && head.x?.kind === "time" ? head.x : null;
  }

  hold(plot, range) {
    if (this.timeAxis) return this.link.hold(range);
    this.ownRange = range;
    return redraw(this);
  }

  async drawPlot(head) {
    const Bokeh = PAGE.bokeh.get(this.store.version)?.loaded;
    if (!Bokeh) {
      const slot = bokehSlot(this.store.version);
      slot.ready.then((loaded) => { slot.loaded = loaded; redraw(this); });
      return;
    }
    if (this.building) return;
    const titles = head.titles ?? [""];
    if (this.drawnDoc !== this.store.docNumber || this.plots.length !== titles.length) {
      this.building = true;
      this.filled = false;
      try {
        this.drawnDoc = this.store.docNumber;
        while (this.plots.length > titles.length) this.plots.pop().remove();
        while (this.plots.length < titles.length) this.plots.push(new Plot(this, this.plot, head.titles ? `${this.plots.length}:` : ""));
        this.plots.forEach((plot, i) => { plot.prefix = head.titles ? `${i}:` : ""; });
        for (const plot of this.plots) await plot.build(Bokeh, this.store.doc, head.titles ? 170 : this.height);
        this.colours = null;
      } finally {
        this.building = false;
      }
      redraw(this);
      return;
    }
    this.plot.classList.toggle("js-multiples", Boolean(head.titles));
    this.plot.dataset.panels = titles.length;
    this.colour();
    const range = this.ownRange && !this.timeAxis ? this.ownRange : this.link.range(head.x);
    this.plots.forEach((plot, i) => { write(plot.title, titles[i]); plot.title.title = titles[i]; plot.fill(head, range); });
    this.filled = true;
    if (JSON.stringify(this.sharedRange) !== JSON.stringify(head.x)) {
      this.sharedRange = head.x;
      if (this.timeAxis) for (const other of this.link.views) if (other !== this) redraw(other);
    }
  }

  colour() {
    if (this.colours) return;
    this.colours = {
      ink: getComputedStyle(this.root).color, faint: getComputedStyle(this.note).color, line: getComputedStyle(this.legend).borderTopColor,
    };
    for (const plot of this.plots) plot.colour(this.colours);
  }

  // Rows of the picture ("r") or late rows ("l") in words beside the pointer.
  fillTip(el, what, row) {
    const { head, columns } = this.store;
    el.replaceChildren();
    ((what === "l" ? head.lateNames : head.names) ?? []).forEach((name, i) => {
      const text = (columns[`${what}.${i}`] ?? [])[row] ?? "";
      if (what === "l" && !text) return;
      write(make("span", "js-label", el), name);
      write(make("span", "js-value", el), text);
    });
  }

  place(el, mouse) {
    const box = this.root.getBoundingClientRect();
    el.style.display = "grid";
    const x = mouse.clientX - box.left;
    el.style.left = `${x + (x > box.width * 0.6 ? -16 - el.offsetWidth : 16)}px`;
    const y = mouse.clientY - box.top;
    el.style.top = `${y > box.height * 0.5 ? Math.max(0, y - 12 - el.offsetHeight) : y + 12}px`;
  }

  showTip(what, row, mouse) {
    this.fillTip(this.tip, what, row);
    this.place(this.tip, mouse);
  }

  hideTip() {
    this.tip.style.display = "none";
  }

  pin(row, event) {
    this.fillTip(this.card, "l", row);
    const close = make("button", "js-button", this.card);
    write(close, "Close");
    close.addEventListener("click", () => { this.card.style.display = "none"; });
    this.hideTip();
    this.place(this.card, event);
  }

  // The kernel is told what the rows say, not where they stand: by the time it hears, they may have moved.
  pick(rows, event) {
    const { head, columns } = this.store;
    this.card.style.display = "none";
    const said = rows.map((row) => (head.names ?? []).map((_, i) => (columns[`r.${i}`] ?? [])[row] ?? ""));
    if ((said.length || head.picked) && !this.store.reader) this.store.say({ say: "pick", rows: said, more: Boolean(event.shiftKey) });
  }

  remove() {
    this.seen.disconnect();
    this.themed.disconnect();
    this.store.views.delete(this);
    this.store.looked();
    this.link.views.delete(this);
    PAGE.dirty.delete(this);
    for (const plot of this.plots) plot.remove();
    this.root.remove();
  }
}

function storeOf(model) {
  const key = model.get("key");
  if (!PAGE.stores.has(key)) PAGE.stores.set(key, new Store(model, key));
  return PAGE.stores.get(key);
}

// One panel of a dashboard as a model of its own: its messages carry its number.
function panel(model, number) {
  const heard = new Map();
  return {
    get: (name) => (name === "key" ? `${model.get("key")}-${number}` : model.get(name)),
    send: (message) => model.send({ ...message, panel: number }),
    on: (event, call) => {
      heard.set(call, (message, buffers) => { if (message.panel === number) call(message, buffers); });
      model.on(event, heard.get(call));
    },
    off: (event, call) => { model.off(event, heard.get(call)); heard.delete(call); },
  };
}

function modelsOf(model) {
  const panels = model.get("panels");
  return panels ? Array.from({ length: panels }, (_, i) => panel(model, i)) : [model];
}

export default {
  initialize({ model }) {
    hear(model);
    const stores = modelsOf(model).map(storeOf);
    const end = whenGone(model, (known) => stores.forEach((store) => store.lost(known)));
    return () => { end(); stores.forEach((store) => store.dispose()); };
  },
  render({ model, el }) {
    const several = Boolean(model.get("panels"));
    const parent = several ? make("div", "jupyter-stream-dashboard", el) : el;
    const link = new Link();
    const views = modelsOf(model).map((each) => new View(storeOf(each), parent, link, several ? 200 : null));
    return () => views.forEach((view) => view.remove());
  },
};
