"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const root = document.documentElement;
  const rows = [...document.querySelectorAll("tr[data-step]")];
  const data = $("data") ? JSON.parse($("data").textContent) : { arrows: [], reads: [] };
  let selected = -1;

  // Theme: the system's, light, dark.
  const themes = ["system", "light", "dark"];
  const setTheme = (theme) => {
    if (theme === "system") root.removeAttribute("data-theme"); else root.dataset.theme = theme;
    if ($("theme")) $("theme").textContent = `theme: ${theme}`;
    try { localStorage.setItem("highwater-theme", theme); } catch { /* files may have no storage */ }
  };
  let theme = "system";
  try { theme = localStorage.getItem("highwater-theme") || "system"; } catch { /* as above */ }
  if (!themes.includes(theme)) theme = "system";
  setTheme(theme);
  $("theme")?.addEventListener("click", () => setTheme(theme = themes[(themes.indexOf(theme) + 1) % 3]));

  // All that a step depends on, itself included.
  const causesOf = (step) => {
    const found = new Set([step]), open = [step];
    while (open.length) for (const writer of data.reads[open.pop()] || []) if (writer && !found.has(writer)) { found.add(writer); open.push(writer); }
    return found;
  };
  const dim = () => {
    const on = $("causes")?.getAttribute("aria-pressed") === "true";
    document.body.classList.toggle("dimming", on);
    const causes = on ? (selected === rows.length - 1 ? new Set([selected, ...data.slice]) : causesOf(selected)) : new Set();
    rows.forEach((row, step) => row.classList.toggle("cause", causes.has(step)));
  };

  const select = (step, { scroll = true, focus = false, keep = true, read = true } = {}) => {
    step = Math.max(0, Math.min(rows.length - 1, step));
    if (!rows.length) return;
    rows.forEach((row, i) => {
      row.setAttribute("aria-selected", i === step);
      row.tabIndex = i === step ? 0 : -1;
      const detail = $(`detail-${i}`);
      if (detail) detail.hidden = i !== step;
    });
    selected = step;
    if (read) document.body.classList.add("reading");
    if ($("panel")) $("panel").scrollTop = 0;
    if (keep) history.replaceState(null, "", `#step=${step}`);
    dim();
    draw();
    if (focus) rows[step].focus({ preventScroll: true });
    if (scroll) rows[step].scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const fromHash = () => {
    const match = /^#step=(\d+)$/.exec(location.hash);
    return match ? Number(match[1]) : null;
  };

  // Messages: from the row and lane that sent them to the row and lane that read or lost them.
  const NS = "http://www.w3.org/2000/svg";
  const make = (name, attributes) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const draw = () => {
    const svg = $("arrows"), stage = $("stage");
    if (!svg || getComputedStyle(svg).display === "none") return;
    const origin = stage.getBoundingClientRect();
    const shapes = [];
    const cell = (step, lane) => [...rows[step].querySelectorAll("td[data-name]")].find((td) => td.dataset.name === lane)?.getBoundingClientRect();
    for (const arrow of data.arrows) {
      const flying = arrow.ended === null;
      const from = cell(arrow.sent, arrow.sender), to = cell(flying ? rows.length - 1 : arrow.ended, arrow.reader);
      if (!from || !to) continue;
      const right = to.left >= from.left, same = Math.abs(to.left - from.left) < 2;
      const x1 = (same ? from.right - 14 : right ? from.right - 10 : from.left + 10) - origin.left, y1 = from.bottom - origin.top - 9;
      const x2 = (same ? to.right - 14 : right ? to.left + 3 : to.right - 3) - origin.left, y2 = (flying ? to.bottom - 4 : to.top + 13) - origin.top;
      const bend = same ? 0 : (right ? 1 : -1) * Math.min(60, Math.abs(x2 - x1) / 2);
      const near = [arrow.sent, arrow.ended].includes(selected);
      const group = make("g", { class: [arrow.delivery, arrow.stale ? "stale" : "", near ? "near" : ""].join(" ") });
      group.append(make("path", { d: same ? `M${x1} ${y1} C${x1 + 22} ${y1 + 20} ${x2 + 22} ${y2 - 20} ${x2} ${y2}` : `M${x1} ${y1} C${x1 + bend} ${y1 + 6} ${x2 - bend} ${y2 - 6} ${x2} ${y2}` }));
      const d = same ? -1 : right ? 1 : -1;
      if (arrow.delivery === "dropped") group.append(make("path", { d: `M${x2 - 5} ${y2 - 5} L${x2 + 5} ${y2 + 5} M${x2 + 5} ${y2 - 5} L${x2 - 5} ${y2 + 5}`, style: "stroke-dasharray:none" }));
      else if (flying) group.append(make("circle", { cx: x2, cy: y2, r: 4 }));
      else group.append(make("polygon", { points: `${x2},${y2} ${x2 - 8 * d},${y2 - 4} ${x2 - 8 * d},${y2 + 4}` }));
      shapes.push(group);
    }
    svg.replaceChildren(...shapes);
    if (typeof data.back_to === "number" && data.back_to < rows.length - 1) { // a lasso: from its last step back to the first one of the cycle
      const place = (step) => { const box = rows[step].firstElementChild.getBoundingClientRect(); return [box.left - origin.left, box.top - origin.top + 16]; };
      const [x, last] = place(rows.length - 1), [, first] = place(data.back_to + 1);
      const back = last - first < 8 ? `M${x + 9} ${last + 6} H${x + 3} V${first} H${x + 7}` : `M${x + 9} ${last} H${x + 3} V${first} H${x + 7}`;
      $("lasso").replaceChildren(make("path", { d: back }), make("polygon", { points: `${x + 11},${first} ${x + 5},${first - 4} ${x + 5},${first + 4}` }));
    }
  };

  // A board that fits scrolls with the page, under its lane names; a wider one scrolls by itself.
  const fit = () => {
    const scroll = $("stage").parentElement;
    scroll.classList.remove("fits", "wide");
    scroll.classList.add($("board").scrollWidth <= scroll.clientWidth + 1 ? "fits" : "wide");
    draw();
  };

  // Search.
  const search = $("search"), items = rows.length ? rows : [...document.querySelectorAll("tr[data-row]")];
  let matches = [];
  const text = (item) => `${item.textContent} ${$(`detail-${item.dataset.step}`)?.textContent || ""}`.toLowerCase();
  const find = () => {
    const wanted = search.value.trim().toLowerCase();
    matches = wanted ? items.filter((item) => text(item).includes(wanted)) : [];
    document.body.classList.toggle("searching", Boolean(wanted));
    items.forEach((item) => item.classList.toggle("match", matches.includes(item)));
    $("found").textContent = wanted ? `${matches.length} found` : "";
  };
  search?.addEventListener("input", find);
  search?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && matches.length && rows.length) {
      event.preventDefault();
      const steps = matches.map((row) => Number(row.dataset.step));
      const back = event.shiftKey ? [...steps].reverse() : steps;
      select(back.find((step) => (event.shiftKey ? step < selected : step > selected)) ?? back[0]);
    } else if (event.key === "Escape") { search.value = ""; find(); search.blur(); if (rows.length) rows[selected].focus({ preventScroll: true }); }
    event.stopPropagation();
  });

  const inLane = (direction) => {
    const lane = rows[selected].dataset.lane;
    for (let step = selected + direction; step >= 0 && step < rows.length; step += direction) if (rows[step].dataset.lane === lane) return step;
    return selected;
  };
  const toggle = (id, then) => { const button = $(id); button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true"); then(); };
  const everything = () => { document.body.classList.toggle("everything", $("everything").getAttribute("aria-pressed") === "true"); draw(); };
  const keys = {
    ArrowDown: () => select(selected + 1, { focus: true }), j: () => select(selected + 1, { focus: true }),
    ArrowUp: () => select(selected - 1, { focus: true }), k: () => select(selected - 1, { focus: true }),
    Home: () => select(0, { focus: true }), End: () => select(rows.length - 1, { focus: true }),
    n: () => select(inLane(1), { focus: true }), p: () => select(inLane(-1), { focus: true }),
    c: () => $("causes") && toggle("causes", dim), a: () => $("everything") && toggle("everything", everything),
    Escape: () => { document.body.classList.remove("reading"); if (search) { search.value = ""; find(); } },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); return; }
    if (rows.length && keys[event.key] && !(event.target.tagName === "SUMMARY")) { event.preventDefault(); keys[event.key](); }
  });
  $("causes")?.addEventListener("click", () => toggle("causes", dim));
  $("everything")?.addEventListener("click", () => toggle("everything", everything));
  $("close")?.addEventListener("click", () => document.body.classList.remove("reading"));
  $("previous")?.addEventListener("click", () => select(selected - 1));
  $("next")?.addEventListener("click", () => select(selected + 1));
  rows.forEach((row, step) => row.addEventListener("click", (event) => { if (!event.target.closest("a")) select(step, { scroll: false, focus: true }); }));
  addEventListener("hashchange", () => { const step = fromHash(); if (step !== null) select(step, { focus: true }); });

  if (rows.length) {
    const step = fromHash();
    fit();
    select(step ?? rows.length - 1, { scroll: step !== null, keep: step !== null, read: step !== null });
    addEventListener("resize", fit);
    addEventListener("beforeprint", draw);
    document.fonts?.ready.then(draw);
    if ("ResizeObserver" in window) new ResizeObserver(draw).observe($("stage"));
  }
})();
