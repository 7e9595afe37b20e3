// SQL highlighting in %%stream cells, and views that a busy page gave up, for JupyterLab 4 and Notebook 7. This file is the
// extension: a module container as webpack's module federation makes them, small enough to be written by hand, so that nothing
// has to be built.
//
// Only marks are put over the text of a cell that begins with %%stream, on the lines below the first: the cell stays a Python
// cell, and no other cell is touched.
//
// A page looks two seconds for a widget, in steps, and not once more in the end: one that comes in the last step is said not to
// be there. A view of ours is then asked for a second time.

(() => {
  const NAME = "jupyter-stream";
  const FIRST = /^\s*%%stream(?=\s|$)/; // not %%streams
  const TOKEN =
    /(--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|('(?:[^']|'')*'?)|(\b\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)|("(?:[^"]|"")*"?|`[^`]*`?)|(:\w+|\{\{.*?\}\})|(\b[A-Za-z_]\w*)|([^\s\w])/gi;
  const KINDS = ["comment", "string", "number", "name", "variable", "word", "operator"];
  const KEYWORDS = new Set(
    `AGGREGATE ALGEBRAIC ALL AND ANTI APPROXIMATE AS ASC BETWEEN BY CASE CAST CHANGES CLUSTERED CONSTRAINT CREATE CROSS DELETE DESC DESCRIBE
    DISTINCT DROP DSTREAM ELSE EMIT END EVERY EXCEPT EXISTS EXPIRE EXPLAIN FALSE FILTER FINAL FOR FOREIGN FROM FULL FUNCTIONS
    GROUP HAVING HOP IF IN INITIALIZE INNER INSERT INTERSECT INTERVAL INTO IS ISTREAM ITERATE JOIN KEY LEFT LIKE LIMIT NOT NOW
    NULL ON OR ORDER ORDERED ORIGIN OUTER OVER PARTITION PRECEDING PREFERENCE PRIMARY QUALIFY RANGE RANK REFERENCES RETROACTIVE
    RETURN RIGHT ROW ROWS RSTREAM SAMPLE SELECT SEMI SESSION SET SHOW SLIDE SOURCE STREAM STREAMS SUMMARY TABLE TABLES TERMINATE
    THEN TOLERANCE TRUE TUMBLE TUMBLING UNBOUNDED UNION UPDATE USING VALUES VIEW VIEWS WATERMARK WHEN WHERE WINDOW WITH WITHIN
    MICROSECOND MICROSECONDS MILLISECOND MILLISECONDS SECOND SECONDS SEC MINUTE MINUTES MIN HOUR HOURS DAY DAYS WEEK WEEKS
    BIGINT BOOLEAN CHAR DATE DOUBLE FLOAT INT INTEGER REAL STRING TIMESTAMP VARCHAR`.split(/\s+/),
  );
  const UNITS = new Set(["MIN", "SECOND", "MINUTE", "HOUR", "DAY", "DATE", "TIMESTAMP", "IF", "LEFT", "RIGHT"]); // functions too

  function kind(match) {
    const found = KINDS[match.slice(1).findIndex((group) => group !== undefined)];
    if (found !== "word") return found;
    const upper = match[0].toUpperCase();
    const called = match.input[TOKEN.lastIndex] === "(";
    if (KEYWORDS.has(upper) && !(called && UNITS.has(upper))) return "keyword";
    return called ? "function" : "name";
  }

  function tokens(text) {
    const found = [];
    const first = text.indexOf("\n");
    if (first < 0 || !FIRST.test(text.slice(0, first))) return found;
    TOKEN.lastIndex = first + 1;
    for (let match; (match = TOKEN.exec(text)); ) found.push([match.index, TOKEN.lastIndex, kind(match)]);
    return found;
  }

  function highlighting({ Decoration, EditorView, ViewPlugin }, { Prec, RangeSetBuilder }) {
    const marks = {};
    for (const name of [...KINDS, "keyword", "function"]) marks[name] = Decoration.mark({ class: `jp-stream-${name}` });
    const decorations = (view) => {
      const builder = new RangeSetBuilder();
      for (const [from, to, name] of tokens(view.state.doc.toString())) builder.add(from, to, marks[name]);
      return builder.finish();
    };
    const plugin = ViewPlugin.define(
      (view) => ({
        decorations: decorations(view),
        update(change) { if (change.docChanged) this.decorations = decorations(change.view); },
      }),
      { decorations: (value) => value.decorations },
    );
    const plain = { color: "var(--jp-mirror-editor-variable-color, inherit)", fontWeight: "normal", fontStyle: "normal" };
    const colour = (name) => ({ ...plain, color: `var(--jp-mirror-editor-${name}-color)` });
    const theme = EditorView.baseTheme({
      ".jp-stream-keyword": { ...colour("keyword"), fontWeight: "bold" },
      ".jp-stream-comment": { ...colour("comment"), fontStyle: "italic" },
      ".jp-stream-string": colour("string"),
      ".jp-stream-number": colour("number"),
      ".jp-stream-function": colour("builtin"),
      ".jp-stream-variable": colour("def"),
      ".jp-stream-operator": colour("operator"),
      ".jp-stream-name": plain,
    });
    return [Prec.lowest(plugin), theme]; // the lowest is innermost: its colours are seen, whatever Python calls the word
  }

  const LOST = "Error displaying widget: model not found";

  function askAgain(notebook, node) {
    for (const cell of notebook.widgets) {
      if (!cell.node.contains(node)) continue;
      const outputs = cell.outputArea?.widgets ?? [];
      const at = outputs.findIndex((output) => output.node.contains(node));
      const renderer = outputs[at]?.widgets?.find((widget) => widget.node === node && widget.renderModel);
      const ours = outputs[at + 1]?.node.querySelector(".jupyter-stream-saved");
      if (renderer && ours) renderer.renderModel(cell.outputArea.model.get(at));
    }
  }

  function watch(notebook) {
    const asked = new WeakSet();
    const observer = new MutationObserver((records) => {
      for (const { target, addedNodes: [text] } of records) {
        if (text?.data !== LOST || asked.has(target)) continue;
        asked.add(target);
        askAgain(notebook, target);
      }
    });
    observer.observe(notebook.node, { childList: true, subtree: true });
    notebook.disposed.connect(() => observer.disconnect());
  }

  let scope;
  const shared = async (name) => {
    const versions = Object.values(scope[name] ?? {});
    const loaded = versions.find((version) => version.loaded) ?? versions[0];
    if (!loaded) throw new Error(`${NAME}: this page has no ${name}`);
    return (await loaded.get())();
  };

  async function extension() {
    const [{ IEditorExtensionRegistry, EditorExtensionRegistry }, { INotebookTracker }, view, state] = await Promise.all(
      ["@jupyterlab/codemirror", "@jupyterlab/notebook", "@codemirror/view", "@codemirror/state"].map(shared),
    );
    const highlights = {
      id: `${NAME}:highlighting`,
      description: "SQL highlighting in %%stream cells",
      autoStart: true,
      requires: [IEditorExtensionRegistry],
      activate: (_app, registry) => registry.addExtension({
        name: `${NAME}:highlighting`,
        factory: () => EditorExtensionRegistry.createImmutableExtension(highlighting(view, state)),
      }),
    };
    const views = {
      id: `${NAME}:views`,
      description: "Asks again for live views that a busy page gave up",
      autoStart: true,
      optional: [INotebookTracker], // Notebook 7's pages of files and folders have none
      activate: (_app, notebooks) => {
        notebooks?.forEach((panel) => watch(panel.content));
        notebooks?.widgetAdded.connect((_, panel) => watch(panel.content));
      },
    };
    return { __esModule: true, default: [highlights, views] };
  }

  globalThis._JUPYTERLAB = globalThis._JUPYTERLAB || {};
  globalThis._JUPYTERLAB[NAME] = {
    init(shareScope) { scope = shareScope; },
    async get(_module) {
      const made = await extension();
      return () => made;
    },
    tokens, // for tests
  };
})();
