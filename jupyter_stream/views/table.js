// Tables and numbers of a live view: plain elements. All text goes in as text nodes.

function make(tag, name, parent) {
  const el = document.createElement(tag);
  if (name) el.className = name;
  parent?.append(el);
  return el;
}

function write(el, text) {
  if (el.textContent !== text) el.textContent = text;
}

const FLASHES = 100; // where more than that has changed, light says nothing, and a page of it keeps the browser painting

function flash(el) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  el.animate([{ backgroundColor: "rgba(255, 169, 14, 0.55)" }, { backgroundColor: "rgba(255, 169, 14, 0)" }], 1200);
}

class Table {
  constructor(view, parent) {
    this.view = view;
    this.el = make("div", "js-table", parent);
    this.sort = null;
    this.before = new Map();
  }

  draw(head, columns) {
    const names = head.names ?? [];
    const shape = JSON.stringify([names, head.numeric]);
    if (this.shape !== shape) this.lay(shape, names, head);
    const cells = names.map((_, i) => columns[`r.${i}`] ?? []);
    const height = cells[0]?.length ?? 0;
    const order = this.order(cells, head.numeric ?? [], height);
    while (this.body.children.length > height) this.body.lastChild.remove();
    const keys = head.keys ?? [];
    const steady = new Set(head.steady ?? []); // columns that say when: time goes on without being news
    const now = new Map();
    const changed = [];
    for (let r = 0; r < height; r += 1) {
      const at = order[r];
      let row = this.body.children[r];
      if (!row) {
        row = make("tr", "", this.body);
        names.forEach((_, i) => make("td", head.numeric[i] ? "js-right" : "", row));
      }
      row.classList.toggle("js-light", Boolean(head.light?.[at]));
      row.dataset.row = at;
      const texts = cells.map((column) => column[at] ?? "");
      texts.forEach((text, i) => write(row.children[i], text));
      const id = JSON.stringify(keys.length ? keys.map((i) => texts[i]) : texts);
      const old = this.before.get(id);
      if (this.before.size && !now.has(id)) {
        if (!old && !steady.size) changed.push(row);
        else texts.forEach((text, i) => { if (text !== old?.[i] && !steady.has(i)) changed.push(row.children[i]); });
      }
      if (!now.has(id)) now.set(id, texts);
    }
    this.before = now;
    if (changed.length <= FLASHES) changed.forEach(flash);
  }

  lay(shape, names, head) {
    this.shape = shape;
    this.before = new Map();
    if (this.sort && !names.includes(this.sort.name)) this.sort = null;
    this.el.replaceChildren();
    const table = make("table", "", this.el);
    const row = make("tr", "", make("thead", "", table));
    names.forEach((name, i) => {
      const cell = make("th", head.numeric[i] ? "js-right" : "", row);
      write(cell, name);
      cell.title = "click to sort";
      cell.addEventListener("click", () => this.turn(name, Boolean(head.numeric[i])));
    });
    this.heads = row;
    this.body = make("tbody", "", table);
    this.body.addEventListener("click", (event) => {
      const clicked = event.target.closest("tr");
      if (clicked) this.view.pick([Number(clicked.dataset.row)], event);
    });
    this.mark();
  }

  turn(name, numeric) {
    const first = numeric ? "descending" : "ascending";
    if (this.sort?.name !== name) this.sort = { name, way: first };
    else this.sort = this.sort.way === first ? { name, way: first === "ascending" ? "descending" : "ascending" } : null;
    this.before = new Map(); // rows that only moved have not changed
    this.mark();
    this.view.draw();
  }

  mark() {
    for (const cell of this.heads.children) {
      if (cell.textContent === this.sort?.name) cell.setAttribute("aria-sort", this.sort.way);
      else cell.removeAttribute("aria-sort");
    }
  }

  order(cells, numeric, height) {
    const order = Array.from({ length: height }, (_, i) => i);
    const at = this.sort ? [...this.heads.children].findIndex((cell) => cell.textContent === this.sort.name) : -1;
    if (at < 0) return order;
    const sign = this.sort.way === "ascending" ? 1 : -1;
    const value = (i) => (numeric[at] ? Number(cells[at][i]) : cells[at][i]);
    const missing = (i) => cells[at][i] === "NULL" || Number.isNaN(value(i));
    return order.sort((a, b) => {
      if (missing(a) || missing(b)) return missing(a) - missing(b) || a - b; // what is missing comes last either way
      return sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) || a - b;
    });
  }
}

class Numbers {
  constructor(view, parent) {
    this.view = view;
    this.el = make("div", "js-number", parent);
  }

  draw(head, columns) {
    const names = head.names ?? [];
    while (this.el.children.length > names.length) this.el.lastChild.remove();
    names.forEach((name, i) => {
      const el = this.el.children[i] ?? make("div", "js-figure", this.el);
      if (!el.firstChild) {
        make("div", "js-label", el);
        const line = make("div", "js-line", el);
        make("span", "js-big", line);
        make("span", "js-change", line);
        el.append(document.createElementNS("http://www.w3.org/2000/svg", "svg"));
      }
      const [label, line, spark] = el.children;
      write(label, name);
      write(line.children[0], (columns[`r.${i}`] ?? [])[0] ?? "");
      const change = head.changes?.[i] ?? "";
      write(line.children[1], change);
      line.children[1].dataset.way = change.startsWith("▲") ? "up" : change.startsWith("▼") ? "down" : "";
      spark.style.setProperty("--js-key", head.shades?.[i] ? this.view.shade(head.shades[i]) : "");
      this.spark(spark, columns[`s.${i}`] ?? []);
      el.classList.toggle("js-light", Boolean(head.light?.[0]));
    });
  }

  spark(svg, values) {
    svg.setAttribute("class", "js-spark");
    svg.setAttribute("viewBox", "0 0 160 32");
    const known = Array.from(values).filter(Number.isFinite);
    svg.style.visibility = known.length > 1 ? "" : "hidden";
    if (known.length < 2) return svg.replaceChildren();
    const [low, high] = [Math.min(...known), Math.max(...known)];
    const x = (i) => 2 + (i / (known.length - 1)) * 154;
    const y = (v) => (high > low ? 29 - ((v - low) / (high - low)) * 26 : 16);
    const shape = (tag, attributes) => {
      const el = document.createElementNS("http://www.w3.org/2000/svg", tag);
      for (const [k, v] of Object.entries(attributes)) el.setAttribute(k, v);
      return el;
    };
    const path = known.map((v, i) => `${i ? "L" : "M"}${x(i).toFixed(1)} ${y(v).toFixed(1)}`).join("");
    return svg.replaceChildren(
      shape("path", { d: `${path}L${x(known.length - 1)} 32L2 32Z`, class: "js-under" }), shape("path", { d: path, class: "js-over" }),
      shape("circle", { cx: x(known.length - 1), cy: y(known[known.length - 1]), r: 2.5 }),
    );
  }
}
