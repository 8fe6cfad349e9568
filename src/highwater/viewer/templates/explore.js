"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  let asked = 0;

  // Highwater answers on this machine, to whoever has the token; or in the page around this one, which passes questions on.
  const token = new URLSearchParams(location.search).get("token") || "", waiting = new Map();
  const fromServer = async (path, { verb, ...query }) => {
    const address = `${path}?${new URLSearchParams({ token, ...(verb ? {} : query) })}`;
    const answer = await fetch(address, path === "/do" ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ verb, ...query }) } : { method: path === "/stop" ? "POST" : "GET" });
    const name = /filename="(.*)"/.exec(answer.headers.get("Content-Disposition") || "");
    return { ok: answer.ok, text: await answer.text(), name: name && name[1] };
  };
  const fromAround = (path, fields) => new Promise((resolve) => {
    const number = waiting.size;
    waiting.set(number, resolve);
    parent.postMessage({ number, path, fields }, "*");
  });
  addEventListener("message", ({ source, data }) => { if (source === parent && parent !== window) waiting.get(data.number)?.(data); });
  const ask = document.body.dataset.answers === "around" ? fromAround : fromServer;

  const problem = (text) => { $("problem").textContent = text; $("problem").hidden = !text; };

  // What the reader opened, typed and scrolled to stays as it was when a part of the page is put in anew.
  const kept = () => ({
    open: all("#session details[open]").map((details) => details.id),
    typed: all("#session input:not(#name, #watch), #session select").map((input) => [input.id, input.value]),
    panel: $("panel")?.scrollTop ?? 0,
    across: document.querySelector(".scroll")?.scrollLeft ?? 0,
  });
  const keep = (before) => {
    before.open.forEach((id) => { if ($(id)) $(id).open = true; });
    before.typed.forEach(([id, value]) => { const input = $(id); if (input && value && !all(`option[value="${CSS.escape(value)}"][disabled]`, input).length) input.value = value; });
    if (document.querySelector(".scroll")) document.querySelector(".scroll").scrollLeft = before.across;
  };

  const send = async (verb, fields, { focus = true } = {}) => {
    const mine = ++asked;
    const slow = setTimeout(() => { $("doing").textContent = "working"; $("busy").hidden = false; }, 400);
    try {
      const { ok, text } = await ask("/do", { verb, ...fields });
      if (mine !== asked) return;
      problem(ok ? "" : text);
      if (!ok) return;
      const before = kept();
      $("session").innerHTML = text;
      keep(before);
      const { at } = JSON.parse($("data").textContent);
      window.highwater.refresh(at);
      const row = document.querySelector("tr[aria-selected=true]");
      row?.scrollIntoView({ block: "nearest" });
      if (focus) row?.focus({ preventScroll: true });
      document.body.dataset.done = String(Number(document.body.dataset.done || 0) + 1);
    } catch {
      problem("Highwater does not answer: it was ended, or the machine sleeps.");
    } finally {
      clearTimeout(slow);
      $("busy").hidden = true;
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-verb]");
    if (event.target.id === "stop") ask("/stop", {}).then(({ text }) => { $("doing").textContent = text; });
    if (!button) return;
    const { verb, action, node, rule, what } = button.dataset;
    send(verb, { ...(action && { action: Number(action) }), ...(node && { node: Number(node) }), ...(rule && { rule }), ...(what && { what }) });
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-verb]");
    if (!form) return;
    event.preventDefault();
    const fields = Object.fromEntries(new FormData(form));
    if (form.dataset.verb === "find") fields.from = event.submitter?.value || "here";
    send(form.dataset.verb, fields, { focus: false });
  });
  // Along the branch: the row is selected at once, and what can happen there follows when the keys rest.
  let resting = 0;
  document.addEventListener("step", (event) => {
    clearTimeout(resting);
    resting = setTimeout(() => send("go", { node: Number(event.detail.node) }), 80);
  });
  document.addEventListener("click", async (event) => { // a refused download says why instead of leaving the page
    const link = event.target.closest("a.save");
    if (!link) return;
    event.preventDefault();
    const { ok, text, name } = await ask("/save", { as: link.dataset.save });
    problem(ok ? "" : text);
    if (!ok) return;
    const file = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text])), download: name });
    file.click();
    URL.revokeObjectURL(file.href);
  });
  document.addEventListener("click", (event) => { // the page around has to show what opens beside
    const link = event.target.closest("#beside");
    if (!link || ask !== fromAround) return;
    event.preventDefault();
    ask("/compare", { rule: link.dataset.rule });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "u" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    send("undo", {});
  });
})();
