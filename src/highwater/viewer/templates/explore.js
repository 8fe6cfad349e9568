"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const token = new URLSearchParams(location.search).get("token") || "";
  const address = (path) => `${path}?token=${encodeURIComponent(token)}`;
  let asked = 0;

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
    const waiting = setTimeout(() => { $("doing").textContent = "working"; $("busy").hidden = false; }, 400);
    try {
      const answer = await fetch(address("/do"), { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ verb, ...fields }) });
      const text = await answer.text();
      if (mine !== asked) return;
      problem(answer.ok ? "" : text);
      if (!answer.ok) return;
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
      clearTimeout(waiting);
      $("busy").hidden = true;
    }
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-verb]");
    if (event.target.id === "stop") fetch(address("/stop"), { method: "POST" }).then((answer) => answer.text()).then((text) => { $("doing").textContent = text; });
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
    const answer = await fetch(link.href), text = await answer.text();
    problem(answer.ok ? "" : text);
    if (!answer.ok) return;
    const name = /filename="(.*)"/.exec(answer.headers.get("Content-Disposition"))[1];
    const file = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text])), download: name });
    file.click();
    URL.revokeObjectURL(file.href);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "u" || event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    send("undo", {});
  });
})();
