// BokehJS in the page: it comes from the kernel once, as bytes, whatever asks for it first. Goes before a widget's own code (`widget.py`).

const PAGE = (globalThis.__jupyterStreamPage ??= { name: Math.random().toString(36).slice(2), bokeh: new Map(), stores: new Map(), dirty: new Set(), resting: 0, rested: 0, scrolled: null, frame: 0 });

// ---- BokehJS: evaluated in a module of its own, so that another Bokeh on the page is left alone

function bokehSlot(version) {
  if (!PAGE.bokeh.has(version)) {
    const slot = { asked: 0 };
    slot.ready = new Promise((resolve) => { slot.resolve = resolve; });
    PAGE.bokeh.set(version, slot);
  }
  return PAGE.bokeh.get(version);
}

async function takeLibrary(version, bytes) {
  const slot = bokehSlot(version);
  if (slot.taken) return;
  slot.taken = true;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const source = await new Response(stream).text();
  const module = `const home = {};\n(function (define, module, exports) {\n${source}\n}).call(home);\nexport default home.Bokeh ?? globalThis.Bokeh;`;
  const url = URL.createObjectURL(new Blob([module], { type: "text/javascript" }));
  const { default: Bokeh } = await import(url);
  URL.revokeObjectURL(url);
  Bokeh.set_log_level?.("error");
  slot.resolve(Bokeh);
}
