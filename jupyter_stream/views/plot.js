// One Bokeh figure of a live view: fills its sources, follows the theme, points, zooms. `live.js` decides what is in it.

let copies = 0;

// Numbers on an axis, large ones with the unit of the largest: 0, 0.5 M, 1 M.
function amounts(ticks) {
  const most = Math.max(...ticks.map(Math.abs));
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : most;
  const [size, unit] = [[1e15, " P"], [1e12, " T"], [1e9, " G"], [1e6, " M"], [1e5, " k"]].find(([from]) => most >= from) ?? [1, ""];
  const per = unit === " k" ? 1e3 : size;
  const far = most >= 1e18 || step < most * 1e-5; // no unit would make these short
  const digits = Math.max(0, Math.min(6, -Math.floor(Math.log10((step || 1) / (far ? 1 : per)) + 1e-9)));
  const word = (value) => value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return ticks.map((tick) => (far || !tick || !unit ? word(tick || 0).replace(/^0\.0+$/, "0") : `${word(tick / per)}${unit}`));
}

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

// Plots whose time axes move together: the panels of a dashboard, the small multiples of a chart.
class Link {
  constructor() { this.views = new Set(); this.held = null; }

  hold(range) {
    this.held = range;
    for (const view of this.views) redraw(view);
  }

  // The range of a plot's own axis, or the one all plots over time share.
  range(axis) {
    if (axis.kind !== "time") return { start: axis.low, end: axis.high };
    if (this.held) return this.held;
    const shown = [...this.views].map((view) => view.timeAxis).filter(Boolean);
    return { start: Math.min(axis.low, ...shown.map((a) => a.low)), end: Math.max(axis.high, ...shown.map((a) => a.high)) };
  }
}

class Plot {
  constructor(view, parent, prefix) {
    this.view = view;
    this.prefix = prefix;
    this.box = make("div", "js-panel", parent);
    this.title = make("div", "js-title", this.box);
    this.el = make("div", "js-figure-box", this.box);
    this.el.addEventListener("mousemove", (event) => { this.mouse = event; this.drag(event); });
    this.el.addEventListener("mouseleave", () => { view.hideTip(); });
    this.el.addEventListener("mousedown", (event) => { this.from = { x: event.clientX, range: this.across(), moved: false }; });
    this.el.addEventListener("click", (event) => { if (!this.dragged) this.pick(event); this.dragged = false; });
    this.el.addEventListener("dblclick", () => view.hold(this, null));
    this.el.addEventListener("wheel", (event) => this.zoom(event), { passive: false });
    this.width = 0; // asking for it while drawing would lay the page out once more for each chart
    this.sized = new ResizeObserver(([entry]) => { this.width = entry.contentRect.width; redraw(view); });
    this.sized.observe(this.el);
    this.let_go = () => { this.dragged = Boolean(this.from?.moved); this.from = null; };
    window.addEventListener("mouseup", this.let_go);
  }

  async build(Bokeh, doc, height) {
    this.clear();
    this.el.style.visibility = "hidden"; // until it is filled its axes say 1970
    // every view has models of its own: a second view of the same document needs other ids
    this.bokehViews = await Bokeh.embed.embed_item(fresh(doc), this.el);
    const views = Array.isArray(this.bokehViews) ? this.bokehViews : [...(this.bokehViews.roots ?? this.bokehViews)];
    this.figureView = views[0];
    this.figure = views[0].model;
    this.document = this.figure.document;
    if (height) this.figure.height = height;
    if (this.prefix) this.figure.below[0].axis_label = null; // under each of many it only takes room
    this.sources = [];
    for (let i = 0; ; i += 1) {
      const source = this.document.get_model_by_name(`layer${i}`);
      if (!source) break;
      this.sources.push(source);
      source.inspect.connect(() => this.point());
    }
    this.watermark = this.document.get_model_by_name("watermark");
    this.late = this.document.get_model_by_name("late");
    for (const axis of [...this.figure.below, ...this.figure.left]) {
      const { formatter } = axis;
      if (formatter?.type === "NumeralTickFormatter") formatter.doFormat = amounts; // Bokeh knows "b" for 10^9, and no "G"
    }
  }

  fill(head, x) {
    const { columns } = this.view.store;
    const range = (model, axis, to) => {
      if (axis.kind === "category") {
        if (JSON.stringify(model.factors) !== JSON.stringify(axis.factors)) model.factors = axis.factors;
      } else if (model.start !== to.start || model.end !== to.end) {
        model.setv(to);
      }
    };
    range(this.figure.x_range, head.x, x);
    range(this.figure.y_range, head.y, { start: head.y.low, end: head.y.high });
    if (head.x.kind === "category") {
      this.figure.below[0].major_label_orientation = this.crowded(head.x.factors) ? 0.7 : "horizontal";
    }
    const look = `${this.view.hiddenCount} ${this.view.night}`;
    this.sources.forEach((source, i) => {
      const data = {};
      let changed = this.look !== look;
      for (const name of Object.keys(source.data)) {
        data[name] = columns[`${this.prefix}${i}.${name}`] ?? [];
        changed ||= this.sent?.[i]?.[name] !== data[name];
      }
      if (!changed) return;
      (this.sent ??= [])[i] = data;
      source.data = data.alpha ? { ...data, alpha: this.seen(data), color: data.color.map((c) => this.view.shade(c)) } : data;
    });
    this.look = look;
    this.thin();
    const at = head.watermark;
    this.watermark.setv(at == null ? { visible: false } : { visible: true, location: at });
    if (this.el.style.visibility) this.show();
  }

  // Bokeh paints in a later frame what it is given now.
  show() {
    const { figure, figureView } = this;
    requestAnimationFrame(async () => {
      await figureView.ready;
      if (figure === this.figure) this.el.style.visibility = "";
    });
  }

  // No more words on the axis than fit beside one another.
  thin() {
    const many = Math.max(2, Math.min(8, Math.floor((this.width - 60) / 85)));
    const { ticker } = this.figure.below[0];
    if (ticker && "desired_num_ticks" in ticker && ticker.desired_num_ticks !== many) ticker.desired_num_ticks = many;
  }

  // Series whose legend entry was clicked away are not drawn.
  seen({ alpha, color }) {
    const { hidden } = this.view;
    return hidden.size && color ? Array.from(alpha, (a, i) => (hidden.has(color[i]) ? 0 : a)) : alpha;
  }

  crowded(factors) {
    const room = (this.width - 80) / Math.max(1, factors.length);
    return factors.some((factor) => factor.length * 6.5 > room);
  }

  colour({ ink, faint, line }) {
    for (const axis of [...this.figure.below, ...this.figure.left]) {
      axis.setv({
        major_label_text_color: ink, axis_label_text_color: ink, axis_line_color: faint, major_tick_line_color: faint,
      });
      if (axis.formatter?.context) axis.change.emit();
    }
    for (const grid of this.figure.center) if ("grid_line_color" in grid) grid.setv({ grid_line_color: line });
    this.watermark.setv({ line_color: ink, line_alpha: 0.75 });
    if (this.late) this.late.glyph.line_color = ink;
    for (const source of this.sources) source.change.emit();
  }

  // What is under the pointer: [source, place in it], the topmost layer's.
  under() {
    for (const source of [...(this.sources ?? [])].reverse()) {
      const { hidden } = this.view;
      const about = source.data.late ?? source.data.row ?? []; // less than 0: a shape that is about no row
      const sent = this.sent?.[this.sources.indexOf(source)]?.color;
      const at = source.inspected.indices.filter((i) => about[i] >= 0 && !hidden.has(sent?.[i]));
      if (at.length) return [source, at];
    }
    return [null, []];
  }

  point() {
    const [source, at] = this.under();
    if (!source || !this.mouse) return this.view.hideTip();
    return this.view.showTip("late" in source.data ? "l" : "r", (source.data.late ?? source.data.row)[at[0]], this.mouse);
  }

  pick(event) {
    const [source, at] = this.under();
    if (!source) this.view.pick([], event);
    else if ("late" in source.data) this.view.pin(source.data.late[at[0]], event);
    else this.view.pick([...new Set(at.map((i) => source.data.row[i]))], event);
  }

  across() {
    return this.figure && "start" in this.figure.x_range ? { start: this.figure.x_range.start, end: this.figure.x_range.end } : null;
  }

  // Where a pointer is, 0 to 1 across the axis, and how wide that is in pixels.
  place(event) {
    const inner = this.figureView.frame.bbox;
    const left = this.el.getBoundingClientRect().left + inner.left;
    return { share: (event.clientX - left) / inner.width, width: inner.width };
  }

  zoom(event) {
    const range = this.across();
    if (!(event.ctrlKey || event.shiftKey || event.metaKey) || !range) return; // a plain wheel scrolls the notebook
    event.preventDefault();
    const { share } = this.place(event);
    const factor = Math.exp(Math.sign(event.deltaY || event.deltaX) * 0.2);
    const at = range.start + share * (range.end - range.start);
    this.view.hold(this, { start: at - (at - range.start) * factor, end: at + (range.end - at) * factor });
  }

  drag(event) {
    if (!this.from?.range || event.buttons !== 1) return;
    const moved = event.clientX - this.from.x;
    if (!this.from.moved && Math.abs(moved) < 4) return;
    this.from.moved = true;
    const { start, end } = this.from.range;
    const by = (-moved / this.place(event).width) * (end - start);
    this.view.hold(this, { start: start + by, end: end + by });
  }

  clear() {
    try { for (const view of this.bokehViews?.roots ?? this.bokehViews ?? []) view.remove(); } catch { /* already gone */ }
    this.document?.clear?.();
    this.el.replaceChildren();
    this.figure = this.document = this.bokehViews = this.late = this.sent = null;
    this.sources = [];
  }

  remove() {
    window.removeEventListener("mouseup", this.let_go);
    this.sized.disconnect();
    this.clear();
    this.box.remove();
  }
}
