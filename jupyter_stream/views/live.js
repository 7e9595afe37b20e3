// The page's half of a live view. Keeps the newest state it was sent and draws it; decides nothing about the query.
// All text goes in as text nodes. `bokeh.js` stands before it.

const ENDED = new Set(["finished", "stopped", "failed"]);
const ALIVE_EVERY = 20_000;
const SILENCE = 30_000; // the kernel sends something every 10 s while the query runs

// ---- what the kernel sent: one store per model, read by any number of views

class Store {
  constructor(model, key) {
    this.model = model;
    this.key = key;
    this.version = model.get("bokeh");
    this.head = null;
    this.columns = {};
    this.doc = null;
    this.docNumber = 0;
    this.seq = -1;
    this.views = new Set();
    this.onMessage = (message, buffers) => this.take(message, buffers);
    model.on("msg:custom", this.onMessage);
    this.hello();
    this.heard = Date.now();
    this.timer = setInterval(() => this.say({ say: "alive" }), ALIVE_EVERY);
    this.watch = setInterval(() => { if (this.silent) for (const view of this.views) redraw(view); }, 5_000);
  }

  get silent() {
    return this.head !== null && !ENDED.has(this.head.state) && Date.now() - this.heard > SILENCE;
  }

  say(message) {
    try { this.model.send(message); } catch { /* the kernel has gone: the last state stays on screen */ }
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
    if (message.do === "library") {
      takeLibrary(message.version, buffers[0]);
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
    this.model.off("msg:custom", this.onMessage);
    PAGE.stores.delete(this.key);
  }
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
  const fresh = "text" in change ? change.text : numbers(buffers[change.at], Float64Array);
  if (!("drop" in change)) return fresh;
  const kept = "text" in change ? old.slice(change.drop) : old.subarray(change.drop);
  if ("text" in change) return kept.concat(fresh);
  const joined = new Float64Array(kept.length + fresh.length);
  joined.set(kept);
  joined.set(fresh, kept.length);
  return joined;
}

// ---- drawing: views on screen only, and never more than half of the page's time for all views together

function redraw(view) {
  PAGE.dirty.add(view);
  if (!PAGE.frame) PAGE.frame = requestAnimationFrame(drawSome);
}

function drawSome(now) {
  PAGE.frame = 0;
  if (now >= PAGE.resting) {
    const start = performance.now();
    for (const view of [...PAGE.dirty]) {
      if (!view.onScreen) continue;
      PAGE.dirty.delete(view);
      view.draw();
      if (performance.now() - start > 20) break;
    }
    PAGE.resting = performance.now() + (performance.now() - start);
  }
  if ([...PAGE.dirty].some((view) => view.onScreen)) PAGE.frame = requestAnimationFrame(drawSome);
}

function make(tag, name, parent) {
  const el = document.createElement(tag);
  if (name) el.className = name;
  parent?.append(el);
  return el;
}

function write(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

class View {
  constructor(store, el) {
    this.store = store;
    this.onScreen = true;
    this.drawnDoc = 0;
    this.root = make("div", "jupyter-stream-live", el);
    this.root.dataset.key = store.key;
    const strip = make("div", "js-strip", this.root);
    this.name = make("span", "js-name", strip);
    this.state = make("span", "js-state", strip);
    const buttons = make("span", "js-buttons", strip);
    this.pauseButton = this.button(buttons, "Pause", () => (this.store.head?.state === "paused" ? "resume" : "pause"));
    this.stopButton = this.button(buttons, "Stop", () => "stop");
    this.readings = make("span", "js-readings", strip);
    this.legend = make("div", "js-legend", this.root);
    this.stage = make("div", "js-stage", this.root);
    this.plot = make("div", "js-plot", this.stage);
    this.table = make("div", "js-table", this.stage);
    this.number = make("div", "js-number", this.stage);
    this.empty = make("div", "js-empty", this.stage);
    this.tip = make("div", "js-tip", this.root);
    this.note = make("div", "js-note", this.root);
    this.error = make("pre", "js-error", this.root);
    this.plot.addEventListener("mousemove", (event) => { this.mouse = event; });
    this.plot.addEventListener("mouseleave", () => { this.tip.style.display = "none"; });
    this.seen = new IntersectionObserver((entries) => {
      this.onScreen = entries[entries.length - 1].isIntersecting;
      if (this.onScreen) redraw(this);
    }, { rootMargin: "200px" });
    this.seen.observe(this.root);
    this.themed = new MutationObserver(() => { this.colours = null; redraw(this); });
    this.themed.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    store.views.add(this);
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

  draw() {
    const head = this.store.head;
    if (!head) return;
    write(this.name, head.name);
    const { silent } = this.store;
    write(this.state, silent ? "no answer" : head.state);
    this.state.title = silent ? "Nothing came from the kernel for 30 seconds: it may be busy, restarted or gone." : "";
    this.root.dataset.state = silent ? "silent" : head.state;
    this.root.dataset.rows = head.rowCount ?? 0;
    const ended = ENDED.has(head.state);
    write(this.pauseButton, head.state === "paused" ? "Resume" : "Pause");
    if (this.pausedShown !== head.state) { this.pauseButton.disabled = false; this.pausedShown = head.state; }
    this.buttons.style.display = ended ? "none" : "";
    this.drawReadings(head.readings);
    this.drawLegend(head);
    write(this.note, [head.note, head.hint].filter(Boolean).join(" · "));
    write(this.error, head.error ?? "");
    write(this.empty, head.empty ?? "");
    this.note.style.display = head.note || head.hint ? "" : "none";
    this.error.style.display = head.error ? "" : "none";
    this.empty.style.display = head.empty ? "" : "none";
    const kind = head.empty || !head.kind ? "" : head.kind;
    this.stage.dataset.kind = kind;
    for (const [name, el] of [["plot", this.plot], ["table", this.table], ["number", this.number]]) {
      el.style.display = name === kind ? "" : "none";
    }
    if (kind === "plot") this.drawPlot(head);
    if (kind === "table") this.drawTable(head);
    if (kind === "number") this.drawNumber(head);
  }

  drawReadings(readings) {
    while (this.readings.children.length > readings.length) this.readings.lastChild.remove();
    readings.forEach((reading, i) => {
      const el = this.readings.children[i] ?? make("span", "js-reading", this.readings);
      if (!el.firstChild) { make("span", "js-label", el); make("span", "js-value", el); }
      write(el.children[0], reading.label);
      write(el.children[1], reading.value);
      el.title = reading.title;
      el.dataset.label = reading.label;
      el.classList.toggle("js-alarm", reading.alarm);
    });
  }

  drawLegend(head) {
    const entries = [...(head.legend ?? [])];
    if (head.kind === "plot" && head.provisional) entries.push(["not final yet", "light"]);
    if (head.kind === "plot" && head.watermark != null) entries.push(["watermark", "dashed"]);
    while (this.legend.children.length > entries.length) this.legend.lastChild.remove();
    entries.forEach(([label, colour], i) => {
      const el = this.legend.children[i] ?? make("span", "js-entry", this.legend);
      if (!el.firstChild) { make("span", "js-swatch", el); make("span", "js-series", el); }
      const sign = colour === "light" || colour === "dashed";
      el.children[0].style.background = sign ? "" : colour;
      el.children[0].className = sign ? `js-swatch js-${colour}` : "js-swatch";
      write(el.children[1], label);
      el.title = label;
    });
    this.legend.style.display = entries.length ? "" : "none";
  }

  async drawPlot(head) {
    const Bokeh = PAGE.bokeh.get(this.store.version)?.loaded;
    if (!Bokeh) {
      const slot = bokehSlot(this.store.version);
      slot.ready.then((loaded) => { slot.loaded = loaded; redraw(this); });
      return;
    }
    if (this.building) return;
    if (this.drawnDoc !== this.store.docNumber) {
      this.building = true;
      try {
        this.forget();
        this.drawnDoc = this.store.docNumber;
        // every view has models of its own: a second view of the same document needs other ids
        const item = fresh(this.store.doc);
        this.bokehViews = await Bokeh.embed.embed_item(item, this.plot);
        const views = Array.isArray(this.bokehViews) ? this.bokehViews : [...(this.bokehViews.roots ?? this.bokehViews)];
        this.figure = views[0].model;
        this.document = this.figure.document;
        this.colours = null;
        this.watch();
      } finally {
        this.building = false;
      }
      redraw(this);
      return;
    }
    this.colour();
    this.fill(head);
  }

  watch() {
    this.sources = [];
    for (let i = 0; ; i += 1) {
      const source = this.document.get_model_by_name(`layer${i}`);
      if (!source) break;
      this.sources.push(source);
      source.inspect.connect(() => this.point(source));
    }
    this.watermark = this.document.get_model_by_name("watermark");
  }

  fill(head) {
    const { columns } = this.store;
    const range = (model, axis) => {
      if (axis.kind === "category") {
        if (JSON.stringify(model.factors) !== JSON.stringify(axis.factors)) model.factors = axis.factors;
      } else if (model.start !== axis.low || model.end !== axis.high) {
        model.setv({ start: axis.low, end: axis.high });
      }
    };
    range(this.figure.x_range, head.x);
    range(this.figure.y_range, head.y);
    if (head.x.kind === "category") {
      this.figure.below[0].major_label_orientation = this.crowded(head.x.factors) ? 0.7 : "horizontal";
    }
    this.sources.forEach((source, i) => {
      const data = {};
      let changed = false;
      for (const name of Object.keys(source.data)) {
        data[name] = columns[`${i}.${name}`] ?? [];
        changed ||= data[name] !== source.data[name];
      }
      if (changed) source.data = data;
    });
    const at = head.watermark;
    this.watermark.setv(at == null ? { visible: false } : { visible: true, location: at });
  }

  crowded(factors) {
    const room = (this.plot.clientWidth - 80) / Math.max(1, factors.length);
    return factors.some((factor) => factor.length * 6.5 > room);
  }

  colour() {
    if (this.colours) return;
    const ink = getComputedStyle(this.root).color;
    const faint = getComputedStyle(this.note).color;
    const line = getComputedStyle(this.legend).borderTopColor;
    this.colours = ink;
    for (const axis of [...this.figure.below, ...this.figure.left]) {
      axis.setv({
        major_label_text_color: ink, axis_label_text_color: ink, axis_line_color: faint, major_tick_line_color: faint,
      });
      for (const formatter of [axis.formatter?.context]) if (formatter) axis.change.emit();
    }
    for (const grid of this.figure.center) if ("grid_line_color" in grid) grid.setv({ grid_line_color: line });
    this.watermark.setv({ line_color: ink, line_alpha: 0.75 });
  }

  point(source) {
    const at = source.inspected.indices[0];
    if (at === undefined || !this.mouse) {
      if (this.tipSource === source) this.tip.style.display = "none";
      return;
    }
    const row = (source.data.row ?? [])[at];
    const { head, columns } = this.store;
    this.tip.replaceChildren();
    (head.names ?? []).forEach((name, i) => {
      write(make("span", "js-label", this.tip), name);
      write(make("span", "js-value", this.tip), (columns[`r.${i}`] ?? [])[row] ?? "");
    });
    const box = this.root.getBoundingClientRect();
    this.tip.style.display = "grid";
    const x = this.mouse.clientX - box.left;
    this.tip.style.left = `${x + (x > box.width * 0.6 ? -16 - this.tip.offsetWidth : 16)}px`;
    this.tip.style.top = `${this.mouse.clientY - box.top + 12}px`;
    this.tipSource = source;
  }

  drawTable(head) {
    const { columns } = this.store;
    const names = head.names ?? [];
    const shape = JSON.stringify([names, head.numeric]);
    if (this.tableShape !== shape) {
      this.tableShape = shape;
      this.table.replaceChildren();
      const table = make("table", "", this.table);
      const row = make("tr", "", make("thead", "", table));
      names.forEach((name, i) => {
        const cell = make("th", head.numeric[i] ? "js-right" : "", row);
        write(cell, name);
      });
      this.body = make("tbody", "", table);
    }
    const height = (columns["r.0"] ?? []).length;
    while (this.body.children.length > height) this.body.lastChild.remove();
    for (let r = 0; r < height; r += 1) {
      let row = this.body.children[r];
      if (!row) {
        row = make("tr", "", this.body);
        names.forEach((_, i) => make("td", head.numeric[i] ? "js-right" : "", row));
      }
      row.classList.toggle("js-light", Boolean(head.light?.[r]));
      names.forEach((_, i) => write(row.children[i], columns[`r.${i}`][r] ?? ""));
    }
  }

  drawNumber(head) {
    const { columns } = this.store;
    const names = head.names ?? [];
    while (this.number.children.length > names.length) this.number.lastChild.remove();
    names.forEach((name, i) => {
      const el = this.number.children[i] ?? make("div", "js-figure", this.number);
      if (!el.firstChild) { make("div", "js-big", el); make("div", "js-label", el); }
      write(el.children[0], (columns[`r.${i}`] ?? [])[0] ?? "");
      write(el.children[1], name);
      el.classList.toggle("js-light", Boolean(head.light?.[0]));
    });
  }

  forget() {
    try { for (const view of this.bokehViews?.roots ?? this.bokehViews ?? []) view.remove(); } catch { /* already gone */ }
    this.document?.clear?.();
    this.plot.replaceChildren();
    this.figure = this.document = this.bokehViews = null;
  }

  remove() {
    this.seen.disconnect();
    this.themed.disconnect();
    this.store.views.delete(this);
    PAGE.dirty.delete(this);
    this.forget();
    this.root.remove();
  }
}

let copies = 0;

function fresh(item) {
  copies += 1;
  const mark = `-${copies}`;
  const renamed = (value) => {
    if (Array.isArray(value)) return value.map(renamed);
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, (k === "id" || k === "root_id") && typeof v === "string" ? v + mark : renamed(v)]));
    }
    return value;
  };
  const copy = renamed(item);
  if (Array.isArray(copy.doc?.root_ids)) copy.doc.root_ids = copy.doc.root_ids.map((id) => id + mark);
  return copy;
}

function storeOf(model) {
  const key = model.get("key");
  if (!PAGE.stores.has(key)) PAGE.stores.set(key, new Store(model, key));
  return PAGE.stores.get(key);
}

export default {
  initialize({ model }) {
    const store = storeOf(model);
    return () => store.dispose();
  },
  render({ model, el }) {
    const view = new View(storeOf(model), el);
    return () => view.remove();
  },
};
