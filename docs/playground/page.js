"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const EXAMPLES = JSON.parse($("examples").textContent);
  const LONGEST_LINK = 30000, LARGEST_TEXT = 1 << 20, MOST_PRINTED = 20000; // characters

  // Files come as scripts, gzipped and in base64: a page that is opened from a folder may load nothing else.
  const arrived = new Map(), scripts = new Map();
  window.file = (name, text) => arrived.set(name, text);
  const script = (address) => {
    if (!scripts.has(address)) scripts.set(address, new Promise((resolve, reject) => {
      const element = Object.assign(document.createElement("script"), { src: address, onload: resolve, onerror: () => reject(new Error(`${address} cannot be read`)) });
      document.head.append(element);
    }));
    return scripts.get(address);
  };
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const through = async (bytes, stream, most = Infinity) => {
    const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader(), parts = [];
    for (let size = 0, { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
      if ((size += value.length) > most) throw new Error("it is too large");
      parts.push(value);
    }
    return new Blob(parts).arrayBuffer();
  };
  const loaded = async () => {
    await Promise.all(["python.js", "highwater.js"].map(script));
    const files = Object.fromEntries(await Promise.all([...arrived].map(async ([name, text]) => [name, await through(bytesOf(text), new DecompressionStream("gzip"))])));
    arrived.clear();
    const code = ["pyodide.asm.js", "pyodide.js", "worker.js"].map((name) => files[name]);
    return { address: URL.createObjectURL(new Blob(code.flatMap((each) => [each, "\n;\n"]), { type: "text/javascript" })), wasm: await WebAssembly.compile(files["pyodide.asm.wasm"]), files };
  };

  // The engine: a worker with Python in it. To stop it is to end the worker and to start another one.
  class Stopped extends Error {}
  let assets = null, worker = null, number = 0;
  const waiting = new Map();
  const answered = ({ data }) => {
    if ("printed" in data) return printed(data.printed);
    const asked = waiting.get(data.number);
    if ("progress" in data) return asked?.tell(data.progress);
    waiting.delete(data.number);
    if ("failed" in data) asked?.reject(new Error(data.failed)); else asked?.resolve(data.answer);
  };
  const send = (verb, fields, tell = () => {}) => new Promise((resolve, reject) => {
    waiting.set(++number, { resolve, reject, tell });
    worker.postMessage({ number, verb, fields });
  });
  const started = async () => {
    const began = performance.now();
    engineSays(assets ? "Python starts again." : "Python starts: some 9 MB are read from the folder of this page.");
    assets ??= loaded();
    const { address, wasm, files } = await assets;
    worker = new Worker(address);
    worker.onmessage = answered;
    worker.onerror = (event) => { event.preventDefault(); waiting.forEach((asked) => asked.reject(new Error(event.message || "the worker ended"))); waiting.clear(); };
    const { "lock.json": lock, "libraries.zip": libraries, "highwater.zip": ours, "python_stdlib.zip": standard } = files;
    const { python } = await send("start", { wasm, files: { "lock.json": lock, "libraries.zip": libraries, "highwater.zip": ours, "python_stdlib.zip": standard, "pyodide.asm.wasm": new ArrayBuffer(0) } });
    engineSays(`Python ${python} runs in this browser, started in ${((performance.now() - began) / 1000).toFixed(1)} s.`);
    document.body.dataset.ready = "true";
  };
  let ready = null;
  const start = () => {
    delete document.body.dataset.ready;
    ready = started();
    ready.catch((error) => { engineSays(`Python cannot be started: ${error.message}. This page needs a browser of 2023 or newer.`); });
    return ready;
  };
  const ask = async (verb, fields, tell) => { await ready; return send(verb, fields, tell); };
  const restart = (reason) => {
    worker?.terminate();
    const asked = [...waiting.values()];
    waiting.clear();
    start();
    asked.forEach(({ reject }) => reject(reason));
  };
  const engineSays = (text) => { $("engine").textContent = text; };

  // The two texts.
  const module = () => /"([^\W\d]\w*)(?:\.\w+)*:\w+"/.exec($("claim").value)?.[1] || "";
  const numbered = (text, wrong = 0) => {
    const gutter = text.parentElement.querySelector(".lines"), count = text.value.split("\n").length;
    gutter.replaceChildren(...Array.from({ length: count }, (_, at) => at + 1 === wrong ? Object.assign(document.createElement("b"), { textContent: wrong }) : String(at + 1)).flatMap((each) => [each, "\n"]));
    gutter.scrollTop = text.scrollTop;
  };
  let name = "claim";
  const named = () => {
    $("module").textContent = `${module() || "model"}.py`;
    $("claim-file").textContent = `${name}.toml`;
    $("unused").hidden = Boolean(module()) || Boolean($("model").value.trim());
  };
  const put = (model, claim, called) => {
    const busy = !$("running").hidden;
    name = /^\w{1,120}$/.test(called || "") ? called : "claim";
    document.body.classList.toggle("built-in", !model);
    [["model", model], ["claim", claim]].forEach(([id, text]) => { $(id).value = text; $(id).scrollTop = 0; numbered($(id)); });
    named();
    forget();
    if (busy) restart(new Stopped("Stopped, as other texts came."));
  };
  let leaving = false; // Escape was pressed, and Tab leaves the editor
  const keys = (event) => {
    const text = event.target;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); return check(); }
    if (event.key !== "Tab" || event.ctrlKey || event.altKey || leaving) { leaving = event.key === "Escape" || (leaving && event.key === "Shift"); return; }
    event.preventDefault();
    const from = text.value.lastIndexOf("\n", text.selectionStart - 1) + 1;
    if (text.selectionStart === text.selectionEnd && !event.shiftKey) return insert(text, " ".repeat(4 - ((text.selectionStart - from) % 4)));
    const to = Math.max(text.selectionEnd, from), lines = text.value.slice(from, to).split("\n");
    const moved = lines.map((line) => event.shiftKey ? line.replace(/^ {1,4}/, "") : line && `    ${line}`).join("\n");
    text.setSelectionRange(from, to);
    insert(text, moved);
    text.setSelectionRange(from, from + moved.length);
  };
  const insert = (text, words) => { // so that it can be undone
    if (!document.execCommand("insertText", false, words)) text.setRangeText(words, text.selectionStart, text.selectionEnd, "end");
    text.dispatchEvent(new Event("input"));
  };

  // What came out.
  const forget = () => {
    ["report-part", "problem", "shown", "printed-part", "running", "older"].forEach((id) => { $(id).hidden = true; });
    $("welcome").hidden = false;
    $("shown").removeAttribute("srcdoc");
    delete document.body.dataset.done;
    session = null;
    asked = "";
  };
  const printed = (text) => {
    $("printed-part").hidden = false;
    if ($("printed").textContent.length < MOST_PRINTED) $("printed").append(`${text}\n`);
  };
  const problem = ({ problem: words, place = {} }) => {
    $("problem").textContent = words;
    $("problem").hidden = false;
    if (!place.file) return;
    const text = $(place.file);
    numbered(text, place.line);
    const height = parseFloat(getComputedStyle(text).lineHeight);
    text.scrollTop = Math.max(0, (place.line - 4) * height);
  };
  const show = (page) => { // in a new frame: Chromium may draw nothing in one that was hidden
    const frame = $("shown").cloneNode();
    frame.hidden = false;
    frame.srcdoc = page;
    $("shown").replaceWith(frame);
    $("welcome").hidden = true;
  };
  let asked = ""; // the texts of which something is shown, or will be
  const age = () => { $("older").hidden = !asked || asked === JSON.stringify(texts()); };
  const texts = () => ({ model: $("model").value, claim: $("claim").value, name });
  const running = (words) => {
    view("result");
    ["report-part", "problem", "shown", "printed-part", "welcome", "older"].forEach((id) => { $(id).hidden = true; });
    asked = JSON.stringify(texts());
    $("printed").textContent = "";
    ["model", "claim"].forEach((id) => numbered($(id)));
    $("progress").textContent = words;
    $("bars").replaceChildren();
    $("running").hidden = false;
    all("#check, #explore").forEach((button) => { button.disabled = true; });
    delete document.body.dataset.done;
  };
  const rested = () => {
    $("running").hidden = true;
    all("#check, #explore").forEach((button) => { button.disabled = false; });
    age();
    document.body.dataset.done = "true";
  };
  const attempt = async (words, verb, fields, tell) => {
    running(words);
    try {
      const answer = await ask(verb, fields, tell);
      if (answer.problem) return problem(answer);
      return answer;
    } catch (error) {
      problem({ problem: error instanceof Stopped ? error.message : `Python ended: ${error.message}` });
      if (!(error instanceof Stopped)) restart(error);
    } finally {
      rested();
    }
  };

  const check = async () => {
    if ($("check").disabled) return;
    let began = 0, last = "";
    const levels = [];
    const tell = ({ depth, states, level }) => {
      began ||= performance.now();
      levels[depth] = level;
      const seconds = (performance.now() - began) / 1000, rate = seconds > 0.5 ? `, ${Math.round(states / seconds).toLocaleString("en")} a second` : "";
      last = `depth ${depth}: ${states.toLocaleString("en")} states so far${rate}`;
      $("progress").textContent = last;
      const most = Math.max(...levels);
      $("bars").replaceChildren(...levels.map((count) => { const bar = document.createElement("i"); bar.style.height = `${100 * count / most}%`; return bar; }));
    };
    ended = () => `Stopped by you${last ? ` at ${last}` : ""}. No violation was met so far.`;
    session = null;
    const answer = await attempt("waiting for Python", "check", texts(), tell);
    if (!answer) return;
    const report = $("report");
    report.dataset.status = answer.status;
    report.replaceChildren(...answer.report.trimEnd().split("\n").map((line) => Object.assign(document.createElement("span"), { textContent: line.trimStart().replace(/^(\S+)  +/, "$1  ") })));
    $("report-part").hidden = false;
    $("from-end").hidden = !answer.entry;
    ({ page, entry } = answer);
    show(page);
  };
  let page = "", entry = null, ended = () => "", session = null;

  // Step by hand: the page in the frame asks, and this page passes it on. What was done is done again after a stop.
  const explore = async (entry = null) => {
    if ($("explore").disabled) return;
    ended = () => "Stopped by you.";
    const begun = { ...texts(), entry, done: [] };
    const answer = await attempt("opening the model", "explore", begun);
    if (!answer) return;
    session = begun;
    show(answer.page);
  };
  addEventListener("message", async ({ source, data }) => {
    if (source !== $("shown").contentWindow || !session || !data || typeof data.path !== "string") return;
    const { number: asked, path, fields } = data, of = session;
    const reply = (more) => $("shown").contentWindow.postMessage({ number: asked, ...more }, "*");
    if (path === "/stop") {
      reply({ ok: true, text: "Python starts again, and does again what you did" });
      restart(new Stopped("stopped"));
      const again = await ask("explore", of).catch(() => null);
      if (again?.page && of === session) show(again.page);
      return;
    }
    if (!["/do", "/save", "/compare"].includes(path)) return;
    try {
      const answer = await ask(path, fields);
      if (answer.problem) return reply({ ok: false, text: answer.problem });
      if (path === "/do") of.done.push(fields);
      if (path === "/compare") { $("beside").srcdoc = answer.page; $("beside-part").showModal(); }
      reply({ ok: true, text: answer.text || "", name: answer.name });
    } catch (error) {
      reply({ ok: false, text: error.message });
    }
  });

  // A link holds both texts, behind the # that browsers send to nobody.
  const toLink = async () => {
    const bytes = new Uint8Array(await through(new TextEncoder().encode(JSON.stringify(texts())), new CompressionStream("deflate-raw")));
    const letters = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
    return `${location.href.split("#")[0]}#1.${btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
  };
  const fromLink = async () => {
    if (!location.hash.slice(1)) return false;
    try {
      const [, version, data] = /^#(\d+)\.([\w-]+)$/.exec(location.hash) || [];
      if (version !== "1") throw new Error(version ? "another version of the playground made it" : "it is not whole");
      const text = await through(bytesOf(data.replaceAll("-", "+").replaceAll("_", "/")), new DecompressionStream("deflate-raw"), LARGEST_TEXT);
      const { model, claim, name: called } = JSON.parse(new TextDecoder().decode(text));
      if (typeof model !== "string" || typeof claim !== "string") throw new Error("it holds no model and claim");
      put(model, claim, String(called));
      view(model ? "model" : "claim");
      $("example").value = "";
      notice("This model and claim came with the link. Read them first: nothing of them runs until you press Check or Step by hand, and then in this browser only, without a network.");
      return true;
    } catch (error) {
      notice(`The link cannot be read: ${/too large|version|whole|holds/.test(error.message) ? error.message : "it is damaged"}.`);
      return false;
    }
  };
  const share = async () => {
    const link = await toLink();
    const fits = link.length <= LONGEST_LINK;
    $("link").hidden = $("copy").hidden = !fits;
    $("copy").textContent = "Copy";
    $("link-says").textContent = !fits
      ? `The link would have ${link.length.toLocaleString("en")} characters, and more than ${LONGEST_LINK.toLocaleString("en")} get lost on the way. Shorten the model, or send the two files.`
      : `It has ${link.length.toLocaleString("en")} characters. Both texts are in the link itself, and no server keeps them.${location.protocol === "file:" ? " This page was opened from a folder, so the link opens on this machine only; put the folder on a web server to share it." : ""}`;
    if (fits) { $("link").value = link; history.replaceState(null, "", link); }
    $("link-part").showModal();
    if (fits) $("link").select();
  };
  const notice = (text) => { $("notice-text").textContent = text; $("notice").hidden = false; };

  // Theme, and on a phone one part at a time.
  const themes = ["system", "light", "dark"];
  let theme = "system";
  try { theme = localStorage.getItem("highwater-theme") || "system"; } catch { /* folders may have no storage */ }
  const setTheme = (to) => {
    theme = themes.includes(to) ? to : "system";
    if (theme === "system") document.documentElement.removeAttribute("data-theme"); else document.documentElement.dataset.theme = theme;
    $("theme").textContent = `theme: ${theme}`;
    try { localStorage.setItem("highwater-theme", theme); } catch { /* as above */ }
  };
  const view = (to) => {
    document.body.dataset.view = to;
    all("[data-to]").forEach((button) => { if (button.dataset.to === to) button.setAttribute("aria-current", "true"); else button.removeAttribute("aria-current"); });
  };

  ["model", "claim"].forEach((id) => {
    $(id).addEventListener("keydown", keys);
    $(id).addEventListener("input", () => { numbered($(id)); named(); age(); });
    $(id).addEventListener("scroll", () => { $(id).parentElement.querySelector(".lines").scrollTop = $(id).scrollTop; });
  });
  $("example").addEventListener("change", () => {
    const { model, claim, name: called } = EXAMPLES[Number($("example").value)] || {};
    if (claim === undefined) return;
    history.replaceState(null, "", location.href.split("#")[0]);
    $("notice").hidden = true;
    put(model, claim, called);
    view(model ? "model" : "claim");
  });
  $("check").addEventListener("click", check);
  $("explore").addEventListener("click", () => explore());
  $("from-end").addEventListener("click", () => explore(entry));
  $("stop").addEventListener("click", () => restart(new Stopped(ended())));
  $("share").addEventListener("click", share);
  $("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText($("link").value); } catch { $("link").select(); document.execCommand("copy"); }
    $("copy").textContent = "Copied";
  });
  $("save-page").addEventListener("click", () => {
    const file = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([page], { type: "text/html" })), download: `${name}.html` });
    file.click();
    URL.revokeObjectURL(file.href);
  });
  $("notice-close").addEventListener("click", () => { $("notice").hidden = true; });
  $("theme").addEventListener("click", () => setTheme(themes[(themes.indexOf(theme) + 1) % 3]));
  $("wide").addEventListener("click", () => $("wide").setAttribute("aria-pressed", document.body.classList.toggle("wide")));
  all("[data-to]").forEach((button) => button.addEventListener("click", () => view(button.dataset.to)));
  addEventListener("hashchange", fromLink);

  setTheme(theme);
  view("model");
  put(EXAMPLES[0].model, EXAMPLES[0].claim, EXAMPLES[0].name);
  $("example").value = "0";
  fromLink();
  start();
})();
