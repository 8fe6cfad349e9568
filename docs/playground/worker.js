"use strict";
// Python and Highwater, apart from the page: a search does not freeze it, and is ended with this worker. The page brings
// every file; there is no network here.
(() => {
  const LIBRARIES = "/lib/libraries.zip", OURS = "/lib/highwater", FOLDER = "/home/playground";
  let playground;

  const start = async ({ files, wasm }) => {
    self.fetch = async (address) => {
      const name = new URL(address).pathname.slice(1);
      if (!(name in files)) throw new TypeError(`the playground has no file ${name}, and no network`);
      return new Response(files[name]);
    };
    WebAssembly.instantiateStreaming = async (_, imports) => ({ module: wasm, instance: await WebAssembly.instantiate(wasm, imports) });
    const print = (text) => postMessage({ printed: text });
    const python = await loadPyodide({
      indexURL: "https://folder.invalid/", // a name for what `fetch` above finds in the folder
      lockFileContents: JSON.parse(new TextDecoder().decode(files["lock.json"])),
      env: { HOME: FOLDER },
      stdout: print,
      stderr: print,
    });
    python.FS.writeFile(LIBRARIES, new Uint8Array(files["libraries.zip"]));
    python.unpackArchive(files["highwater.zip"], "zip", { extractDir: OURS });
    python.runPython(`import sys; sys.path[:0] = ["${OURS}", "${LIBRARIES}"]`);
    playground = python.pyimport("highwater.playground").Playground();
    return JSON.stringify({ python: python.runPython("sys.version.split()[0]") });
  };

  const VERBS = {
    start,
    check: ({ model, claim, name }, number) => playground.check.callKwargs(model, claim, (depth, states, level) => postMessage({ number, progress: { depth, states, level } }), { name }),
    explore: ({ model, claim, name, entry, done }) => playground.explore.callKwargs(model, claim, { name, entry: JSON.stringify(entry), done: JSON.stringify(done) }),
    "/do": (fields) => playground.do(JSON.stringify(fields)),
    "/save": ({ as }) => playground.save(as),
    "/compare": ({ rule }) => playground.compare(rule),
  };

  addEventListener("message", async ({ data: { number, verb, fields } }) => {
    try {
      postMessage({ number, answer: JSON.parse(await VERBS[verb](fields, number)) });
    } catch (error) { // of Python itself: its last line says what it is
      postMessage({ number, failed: String(error.message || error).trim().split("\n").pop() });
    }
  });
})();
