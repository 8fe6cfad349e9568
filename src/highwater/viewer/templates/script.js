"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const root = document.documentElement;
  let rows = [], data = { arrows: [], reads: [] }, selected = -1;

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
  const framed = location.protocol === "about:"; // inside of another page, in a notebook or the playground: no address, and its theme
  if (framed && $("theme")) $("theme").hidden = true;
  $("theme")?.addEventListener("click", () => setTheme(theme = themes[(themes.indexOf(theme) + 1) % 3]));

  // What is shown: the address keeps the step, fields that are hidden or watched, and lanes that are folded.
  const shown = { terse: false, hide: new Set(), watch: new Set(), fold: new Set() };
  // Of a comparison that is too wide: the lanes that are the same on both sides after every step.
  const alike = () => all(".board thead [data-side='1']").map((head) => head.dataset.name).filter((name) => !all("td.apart").some((cell) => cell.dataset.name === name));
  const fromHash = () => {
    const parts = new URLSearchParams(location.hash.slice(1));
    for (const key of ["hide", "watch", "fold"]) shown[key] = new Set((parts.get(key) || "").split("|").filter(Boolean));
    if (!parts.has("fold") && document.querySelector("body.compare .scroll.wide")) shown.fold = new Set(alike());
    shown.terse = parts.get("terse") === "1";
    const step = parts.get("step");
    return /^\d+$/.test(step || "") ? Number(step) : null;
  };
  const toHash = () => {
    if (framed) return;
    const parts = [`step=${selected}`];
    for (const key of ["hide", "watch", "fold"]) if (shown[key].size) parts.push(`${key}=${[...shown[key]].map(encodeURIComponent).join("|")}`);
    if (shown.terse) parts.push("terse=1");
    history.replaceState(history.state, "", `${location.search}#${parts.join("&")}`);
  };
  const view = () => {
    document.body.classList.toggle("terse", shown.terse);
    if ($("terse")) $("terse").checked = shown.terse;
    all("[data-show]").forEach((choice) => { choice.value = ["hide", "watch"].find((key) => shown[key].has(choice.dataset.show)) || ""; });
    all("[data-field]").forEach((part) => {
      part.classList.toggle("off", shown.hide.has(part.dataset.field));
      part.classList.toggle("watched", shown.watch.has(part.dataset.field));
    });
    all("#board [data-name]").forEach((cell) => cell.classList.toggle("folded", shown.fold.has(cell.dataset.name)));
    all("[data-fold]").forEach((button) => button.setAttribute("aria-expanded", !shown.fold.has(button.dataset.fold)));
    draw();
  };

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

  const select = (step, { scroll = true, focus = false, keep = true, read = true, quiet = false } = {}) => {
    if (!rows.length) return;
    step = Math.max(0, Math.min(rows.length - 1, step));
    rows.forEach((row, i) => {
      row.setAttribute("aria-selected", i === step);
      row.tabIndex = i === step ? 0 : -1;
      const detail = $(`detail-${i}`);
      if (detail) detail.hidden = i !== step;
    });
    all("[data-strip]").forEach((link) => {
      if (Number(link.dataset.strip) !== step) return link.removeAttribute("aria-current");
      link.setAttribute("aria-current", "step");
      const strip = link.parentElement;
      strip.scrollLeft = link.offsetLeft - strip.offsetLeft - strip.clientWidth / 2;
    });
    const moved = selected !== step;
    selected = step;
    if (read) document.body.classList.add("reading");
    if ($("panel") && !quiet) $("panel").scrollTop = 0;
    if (keep) toHash();
    dim();
    draw();
    if (focus) rows[step].focus({ preventScroll: true });
    if (scroll) rows[step].scrollIntoView({ block: "nearest", inline: "nearest" });
    if (moved && !quiet) document.dispatchEvent(new CustomEvent("step", { detail: { step, node: rows[step].dataset.node } }));
  };

  // Messages: from the lifeline of the lane that sent them, under its row, to that of the lane that read or lost them.
  const NS = "http://www.w3.org/2000/svg", LIFELINE = 9;
  const make = (name, attributes) => {
    const element = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const draw = () => {
    const svg = $("arrows"), stage = $("stage");
    if (!svg || getComputedStyle(svg).display === "none") return;
    const origin = stage.getBoundingClientRect();
    const cell = (side, step, lane) => all("td[data-name]", rows[step]).find((td) => td.dataset.name === lane && Number(td.dataset.side || 0) === side)?.getBoundingClientRect();
    svg.replaceChildren(...data.arrows.flatMap((arrow) => {
      const side = arrow.side || 0, flying = arrow.ended === null, end = flying ? rows.length - 1 : arrow.ended;
      const from = cell(side, arrow.sent, arrow.sender), to = cell(side, end, arrow.reader);
      if (!from || !to) return [];
      const x1 = from.left + LIFELINE - origin.left, x2 = to.left + LIFELINE - origin.left;
      const y1 = from.bottom - origin.top - 5, y2 = (flying ? to.bottom - 3 : to.top + 12) - origin.top;
      const same = Math.abs(x2 - x1) < 2, right = x2 > x1;
      const near = [arrow.sent, arrow.ended].includes(selected);
      const group = make("g", { class: [arrow.delivery, arrow.stale ? "stale" : "", near ? "near" : ""].join(" ").trim(), "data-from": arrow.sender, "data-to": arrow.reader });
      group.append(make("path", { d: same ? `M${x1} ${y1} C${x1 - 9} ${y1 + 8} ${x2 - 9} ${y2 - 8} ${x2} ${y2}` : `M${x1} ${y1} L${x2} ${y2}` }));
      group.append(make("circle", { class: "start", cx: x1, cy: y1, r: 2.5 }));
      const angle = same ? 0.6 : Math.atan2(y2 - y1, x2 - x1);
      const at = (turn, length) => `${x2 - length * Math.cos(angle + turn)},${y2 - length * Math.sin(angle + turn)}`;
      if (arrow.delivery === "dropped") group.append(make("path", { d: `M${x2 - 5} ${y2 - 5} L${x2 + 5} ${y2 + 5} M${x2 + 5} ${y2 - 5} L${x2 - 5} ${y2 + 5}`, style: "stroke-dasharray:none" }));
      else if (flying) group.append(make("circle", { cx: x2, cy: y2, r: 4 }));
      else group.append(make("polygon", { points: `${x2},${y2} ${at(0.42, 10)} ${at(-0.42, 10)}` }));
      return [group];
    }));
    if (typeof data.back_to === "number" && data.back_to < rows.length - 1) { // a lasso: from its last step back to the first one of the cycle
      const place = (step) => { const box = rows[step].firstElementChild.getBoundingClientRect(); return [box.left - origin.left, box.top - origin.top + 16]; };
      const [x, last] = place(rows.length - 1), [, first] = place(data.back_to + 1);
      const back = last - first < 8 ? `M${x + 9} ${last + 6} H${x + 3} V${first} H${x + 7}` : `M${x + 9} ${last} H${x + 3} V${first} H${x + 7}`;
      $("lasso").replaceChildren(make("path", { d: back }), make("polygon", { points: `${x + 11},${first} ${x + 5},${first - 4} ${x + 5},${first + 4}` }));
    }
  };

  // A board that fits scrolls with the page, under its lane names; a wider one scrolls by itself.
  const fit = () => {
    const tools = document.querySelector(".tools");
    if (tools) root.style.setProperty("--top", getComputedStyle(tools).position === "sticky" ? `${tools.offsetHeight}px` : "0px");
    const scroll = $("stage")?.parentElement;
    if (!scroll) return;
    scroll.classList.remove("fits", "wide");
    scroll.classList.add($("board").scrollWidth <= scroll.clientWidth + 1 ? "fits" : "wide");
    draw();
  };

  // Search.
  const search = $("search");
  let matches = [];
  const items = () => (rows.length ? rows : all("tr[data-row]"));
  const text = (item) => `${item.textContent} ${$(`detail-${item.dataset.step}`)?.textContent || ""}`.toLowerCase();
  const find = () => {
    const wanted = search.value.trim().toLowerCase();
    matches = wanted ? items().filter((item) => text(item).includes(wanted)) : [];
    document.body.classList.toggle("searching", Boolean(wanted));
    items().forEach((item) => item.classList.toggle("match", matches.includes(item)));
    all("tbody[data-group]").forEach((group) => group.classList.toggle("empty", Boolean(wanted) && !group.querySelector("tr.match")));
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

  // The index: sorted by a column, all claims are in one list; else they are grouped by folder.
  const groups = all("tbody[data-group]").map((group) => [group, all("tr[data-row]", group)]);
  let sorted = ["", 1];
  const sort = (column, direction) => {
    sorted = [column, direction];
    all("[data-sort]").forEach((button) => button.parentElement.setAttribute("aria-sort", button.dataset.sort !== column ? "none" : direction > 0 ? "ascending" : "descending"));
    if ($("sort")) $("sort").value = column;
    document.body.classList.toggle("flat", Boolean(column));
    for (const [group, inside] of groups) group.append(...inside);
    if (!column) return;
    const value = (row) => row.dataset[column], number = (row) => Number(value(row));
    const numeric = ["states", "depth", "seconds"].includes(column);
    const inOrder = groups.flatMap(([, inside]) => inside).sort((a, b) => direction * (numeric ? number(a) - number(b) : value(a).localeCompare(value(b))));
    groups[0]?.[0].append(...inOrder);
  };
  all("[data-sort]").forEach((button) => button.addEventListener("click", () => {
    const [column, direction] = sorted, mine = button.dataset.sort;
    if (column !== mine) sort(mine, 1); else if (direction > 0) sort(mine, -1); else sort("", 1);
  }));
  $("sort")?.addEventListener("change", () => sort($("sort").value, 1));
  for (const [group] of groups) group.querySelector("tr.group button").addEventListener("click", (event) => {
    event.currentTarget.setAttribute("aria-expanded", !group.classList.toggle("closed"));
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
  $("previous")?.addEventListener("click", () => select(selected - 1));
  $("next")?.addEventListener("click", () => select(selected + 1));
  document.addEventListener("change", (event) => {
    const field = event.target.dataset?.show;
    if (event.target.id === "terse") shown.terse = event.target.checked;
    else if (field !== undefined) for (const key of ["hide", "watch"]) shown[key][event.target.value === key ? "add" : "delete"](field);
    else return;
    toHash();
    view();
  });
  document.addEventListener("click", (event) => {
    const { target } = event;
    const lane = target.closest("[data-fold]")?.dataset.fold, row = target.closest("tr[data-step]");
    const copied = target.closest("[data-copy]"), link = framed && target.closest("a[href^='#']")?.getAttribute("href");
    if (framed && target.closest("a[href^='http']")) target.closest("a").target = "_blank";
    if (link) { event.preventDefault(); if (link.startsWith("#step=")) select(Number(link.slice(6)), { focus: true }); else $(link.slice(1))?.scrollIntoView(); return; }
    if (lane !== undefined) { shown.fold[shown.fold.has(lane) ? "delete" : "add"](lane); toHash(); view(); fit(); }
    else if (target.closest("#close")) document.body.classList.remove("reading");
    else if (copied) navigator.clipboard?.writeText($(copied.dataset.copy).textContent).then(() => { copied.textContent = "copied"; });
    else if (row && !target.closest("a, button, input, select")) select(rows.indexOf(row), { scroll: false, focus: true });
  });
  addEventListener("hashchange", () => { const step = fromHash(); view(); if (step !== null) select(step, { focus: true }); });

  // The command that opens this page to go on by hand: the file may have another name by now.
  const command = () => {
    if (!$("explore")) return;
    const file = location.protocol === "file:" ? decodeURIComponent(location.pathname.split("/").pop()) : "";
    const name = /^[\w.-]+$/.test(file) ? file : file ? `'${file.replaceAll("'", "'\\''")}'` : "";
    if (name) $("explore").textContent = $("explore").textContent.replace($("explore").dataset.name, () => name);
    $("explore").dataset.name = name || $("explore").dataset.name;
  };

  // Read the board again: the page that explores puts in another one.
  const refresh = (step = null) => {
    rows = all("tr[data-step]");
    data = $("data") ? JSON.parse($("data").textContent) : { arrows: [], reads: [] };
    if (!rows.length) return;
    view();
    fit();
    if (step !== null) select(step, { scroll: false, read: false, quiet: true });
  };
  window.highwater = { refresh, select, selected: () => selected };

  command();
  refresh();
  if (rows.length) {
    const step = fromHash();
    view();
    select(step ?? Number(data.at ?? rows.length - 1), { scroll: step !== null, keep: step !== null, read: step !== null, quiet: true });
    addEventListener("resize", fit);
    addEventListener("beforeprint", draw);
    document.fonts?.ready.then(draw);
    if ("ResizeObserver" in window) new ResizeObserver(draw).observe($("stage"));
  }
})();
