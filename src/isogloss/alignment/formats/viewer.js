"use strict";
const { pairs, fixed: given, threshold: start } = JSON.parse(document.getElementById("data").textContent);
const PAGE = 10;
const by = (id) => document.getElementById(id);
const fixed = new Map(given.map(([pair, links]) => [pair, new Map(links)]));
let threshold = start, page = 0, found = pairs.map((_, row) => row), saved = true;

const key = (i, j) => `${i}-${j}`;
const correction = (pair, i, j) => fixed.get(pair.pair)?.get(key(i, j));

function linked(pair, cells, i, j) {
  return correction(pair, i, j) ?? (cells.get(key(i, j)) ?? 0) > threshold;
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  return made;
}

function paint(cell, pair, cells, i, j) {
  const p = cells.get(key(i, j)) ?? 0, on = linked(pair, cells, i, j), set = correction(pair, i, j);
  const button = cell.firstChild;
  button.textContent = on ? "●" : set === false ? "×" : "";
  cell.className = set === undefined ? "" : "fixed";
  cell.style.background = `rgba(47, 111, 176, ${(0.75 * p).toFixed(3)})`;
  const state = `${on ? "linked" : "not linked"}${set === undefined ? "" : ", corrected"}`;
  button.title = `${pair.source[i]} | ${pair.target[j]}: ${p.toFixed(2)}, ${state}`;
  button.setAttribute("aria-label", button.title);
  button.setAttribute("aria-pressed", String(on));
}

function change(pair, cells, i, j, confirm) {
  const now = linked(pair, cells, i, j), set = correction(pair, i, j);
  if (!fixed.has(pair.pair)) fixed.set(pair.pair, new Map());
  const links = fixed.get(pair.pair);
  if (set === undefined) links.set(key(i, j), confirm ? now : !now);
  else links.delete(key(i, j));
  if (!links.size) fixed.delete(pair.pair);
  saved = false;
  count();
}

function matrix(pair) {
  const cells = new Map(pair.links.map(([i, j, p]) => [key(i, j), p]));
  const table = element("table", ""), head = table.createTHead().insertRow();
  head.append(element("td", ""), ...pair.target.map((word) => element("th", word, { scope: "col", dir: "auto" })));
  const body = table.createTBody();
  pair.source.forEach((word, i) => {
    const row = body.insertRow();
    row.append(element("th", word, { scope: "row", dir: "auto" }));
    pair.target.forEach((_, j) => {
      const cell = row.insertCell();
      cell.append(element("button", "", { type: "button" }));
      cell.firstChild.addEventListener("click", (event) => {
        change(pair, cells, i, j, event.shiftKey);
        paint(cell, pair, cells, i, j);
      });
      paint(cell, pair, cells, i, j);
    });
  });
  const scroll = element("div", "", { class: "scroll" });
  scroll.append(table);
  return scroll;
}

function draw() {
  const last = Math.max(Math.ceil(found.length / PAGE) - 1, 0);
  page = Math.min(page, last);
  const shown = found.slice(page * PAGE, (page + 1) * PAGE).map((row) => {
    const section = element("section", "", { "data-pair": pairs[row].pair });
    section.append(element("h2", `Pair ${pairs[row].pair}`));
    for (const text of pairs[row].texts) section.append(element("p", text, { class: "text", dir: "auto" }));
    section.append(matrix(pairs[row]));
    return section;
  });
  by("pairs").replaceChildren(...shown);
  by("place").textContent = `page ${page + 1} of ${last + 1}, ${found.length} pairs`;
  by("back").disabled = page === 0;
  by("next").disabled = page === last;
  count();
}

function count() {
  const total = [...fixed.values()].reduce((sum, links) => sum + links.size, 0);
  by("count").textContent = `${total} corrected`;
}

function corrections() {
  return pairs.filter((pair) => fixed.has(pair.pair)).map((pair) => {
    const sides = { add: [], remove: [] };
    for (const [link, on] of fixed.get(pair.pair)) sides[on ? "add" : "remove"].push(link.split("-").map(Number));
    return JSON.stringify({ pair: pair.pair, source: pair.source, target: pair.target, ...sides }) + "\n";
  }).join("");
}

by("threshold").value = threshold;
by("threshold").addEventListener("input", (event) => {
  threshold = Number(event.target.value);
  by("value").textContent = threshold.toFixed(2);
  draw();
});
by("value").textContent = threshold.toFixed(2);
by("find").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  found = pairs.map((_, row) => row).filter((row) => pairs[row].texts.join("\n").toLowerCase().includes(wanted));
  page = 0;
  draw();
});
by("back").addEventListener("click", () => { page -= 1; draw(); });
by("next").addEventListener("click", () => { page += 1; draw(); });
by("save").addEventListener("click", () => {
  const url = URL.createObjectURL(new Blob([corrections()], { type: "application/jsonl" }));
  element("a", "", { href: url, download: "corrections.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
  saved = true;
});
addEventListener("beforeunload", (event) => { if (!saved) event.preventDefault(); });
draw();
