"use strict";
// Searches the headwords, forms and phrases of both languages, and shows concordances. Data come as scripts that
// call isogloss.add, because pages opened from a disk may not read other files.
const root = document.body.dataset.root;
const languages = document.body.dataset.languages.split(" ");
const waiting = new Map(), loaded = new Map();
window.isogloss = { add: (name, data) => waiting.get(name)?.(data) };

function load(name) {
  if (!loaded.has(name)) {
    loaded.set(name, new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `${root}data/${name}.js`;
      script.onerror = () => reject(new Error(`data/${name}.js cannot be read`));
      document.head.append(script);
    }));
  }
  return loaded.get(name);
}

const SPECIAL = { "ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ʼ": "'", "’": "'" };
const fold = text => text.normalize("NFKD").replace(/[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed]/g, "")
  .toLowerCase().replace(/[łøđðþßæœıʼ’]/g, letter => SPECIAL[letter]);

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// A row is [word, page, entry, frequency, first translation, kind]; kinds are 0 headword, 1 form, 2 phrase.
async function index(code) {
  const data = await load(`${code}-index`);
  data.keys ??= data.rows.map(row => fold(row[0]));
  return data;
}

const SHOWN = 40;
async function search(query) {
  const wanted = fold(query.trim()), found = [];
  if (!wanted) return [];
  for (const code of languages) {
    const { rows, keys } = await index(code);
    keys.forEach((key, k) => {
      const at = key.startsWith(wanted) ? (key === wanted ? 0 : 1) : key.includes(" " + wanted) ? 2 : -1;
      if (at >= 0) found.push([at + (rows[k][5] === 2 ? 3 : 0), -rows[k][3], code, rows[k]]);
    });
  }
  return found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

const query = document.getElementById("query"), results = document.getElementById("results"), found = document.getElementById("found");
let asked = 0;
async function show() {
  const turn = ++asked, hits = await search(query.value);
  if (turn !== asked) return;
  found.textContent = !query.value.trim() ? "" : hits.length > SHOWN ? `${SHOWN} of ${hits.length} words` : `${hits.length} ${hits.length === 1 ? "word" : "words"}`;
  results.replaceChildren(...await Promise.all(hits.slice(0, SHOWN).map(async ([, , code, [word, page, entry, , translation]]) => {
    const here = await index(code), there = await index(languages.find(other => other !== code));
    const item = document.createElement("li");
    item.append(element("a", word, { href: `${root}${code}/${page}.html#w${entry}`, lang: here.code, dir: here.direction }));
    if (translation) item.append(" ", element("span", translation, { lang: there.code, dir: there.direction }));
    item.append(" ", element("small", here.name));
    return item;
  })));
}
function failed(error) { found.textContent = `The search does not work: ${error.message}.`; }
query.closest(".search").hidden = false;
query.addEventListener("input", () => show().catch(failed));
query.addEventListener("keydown", event => {
  if (event.key === "Enter") results.querySelector("a")?.click();
  if (event.key === "Escape") { query.value = ""; show(); }
});
document.addEventListener("keydown", event => {
  if (event.key === "/" && !event.target.matches("input, select")) { event.preventDefault(); query.focus(); }
});

// A line is [sentence, start, end, starts and ends in the translation ...], in characters, not in UTF-16 units.
const lines = document.getElementById("lines");
const LINES = 100;
let concordance = [];

function pieces(text, spans) {
  const characters = [...text], out = document.createDocumentFragment();
  let at = 0;
  for (const [start, end] of spans) {
    out.append(characters.slice(at, start).join(""), element("mark", characters.slice(start, end).join("")));
    at = end;
  }
  out.append(characters.slice(at).join(""));
  return out;
}

function drawLine({ source, target, start, end, spans, here, there }) {
  const characters = [...source], item = document.createElement("li");
  const kwic = element("p", "", { class: "kwic", lang: here.code, dir: here.direction });
  const before = document.createElement("span");
  before.append(element("span", characters.slice(0, start).join("")));
  kwic.append(before, element("mark", characters.slice(start, end).join("")), element("span", characters.slice(end).join("")));
  const other = element("p", "", { lang: there.code, dir: there.direction });
  other.append(pieces(target, spans));
  item.append(kwic, other);
  return item;
}

function drawLines(total) {
  const order = document.getElementById("order").value, only = document.getElementById("only").value;
  const left = line => fold(line.source.slice(0, line.source.indexOf([...line.source].slice(line.start).join("")))).split(/\s+/).reverse().join(" ");
  const keys = { text: line => line.sentence, translation: line => line.as, left, right: line => fold([...line.source].slice(line.end).join("").trim()) };
  const shown = concordance.filter(line => !only || line.as === only).map(line => [keys[order](line), line])
    .sort(([a], [b]) => (typeof a === "number" ? a - b : a.localeCompare(b))).map(([, line]) => line);
  const part = shown.slice(0, LINES);
  lines.replaceChildren(...part.map(drawLine));
  if (shown.length > LINES) {
    const more = element("button", `Show all ${shown.length} lines`, { type: "button" });
    more.onclick = () => lines.replaceChildren(...shown.map(drawLine));
    lines.append(more);
  }
  document.getElementById("lines-count").textContent = `${shown.length} lines of ${total} occurrences`;
}

async function openConcordance() {
  const match = /^#([A-Za-z0-9_-]+)\.(\d+)\.(\d+)$/.exec(location.hash);
  if (!lines || !match || !languages.includes(match[1])) return;
  const [, code, page, entry] = match, first = code === languages[0];
  const { size, entries } = await load(`${code}-lines-${page}`);
  const here = await index(code), there = await index(languages[first ? 1 : 0]);
  const { word, total, rows } = entries[entry];
  const sentences = await Promise.all(rows.map(row => load(`text-${Math.floor(row[0] / size)}`)));
  concordance = rows.map((row, k) => {
    const pair = sentences[k][row[0] % size], spans = [];
    for (let i = 3; i < row.length; i += 2) spans.push([row[i], row[i + 1]]);
    const [source, target] = first ? pair : [pair[1], pair[0]], characters = [...target];
    const as = spans.map(([a, b]) => characters.slice(a, b).join("").toLowerCase()).join(" ") || "–";
    return { sentence: row[0], start: row[1], end: row[2], source, target, spans, as, here, there };
  });
  document.getElementById("word").replaceChildren(" of ", element("span", word, { lang: here.code, dir: here.direction }));
  const counts = Map.groupBy ? Map.groupBy(concordance, line => line.as) : concordance.reduce((all, line) => all.set(line.as, [...(all.get(line.as) ?? []), line]), new Map());
  const options = [...counts].sort((a, b) => b[1].length - a[1].length).map(([as, group]) => element("option", `${as} (${group.length})`, { value: as }));
  document.getElementById("only").replaceChildren(element("option", "all", { value: "" }), ...options);
  document.getElementById("controls").hidden = false;
  drawLines(total);
  for (const id of ["order", "only"]) document.getElementById(id).onchange = () => drawLines(total);
}
const opened = () => openConcordance().catch(error => { document.getElementById("lines-count").textContent = `${error.message}.`; });
if (lines) { window.addEventListener("hashchange", opened); opened(); }
