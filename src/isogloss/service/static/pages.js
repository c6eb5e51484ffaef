// Everything works without this file; with it, filters act at once and new events announce themselves.
"use strict";

// What the page shows now; a jump within it changes neither.
const place = () => location.pathname + location.search;
let shown = place();

// Put the part of another page of ours in place of the same part of this one, unless another was asked for since.
let asked = "";
async function swap(address, part) {
  asked = address;
  const answer = await fetch(address, { headers: { accept: "text/html" } });
  if (!answer.ok) { location.assign(address); return; }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (asked !== address) return;
  const fresh = page.getElementById(part), old = document.getElementById(part);
  if (!fresh || !old) { location.assign(address); return; }
  old.replaceWith(document.adoptNode(fresh));
  document.getElementById("said").textContent = fresh.dataset.said;
  history.pushState(null, "", address);
  shown = place();
}

// The address of a form, without fields that are empty or as they are anyway.
function addressOf(form) {
  const chosen = new URLSearchParams();
  const usual = (name) => (form.elements[name].dataset || {}).usual || "";
  for (const [name, value] of new FormData(form)) if (value !== "" && value !== usual(name)) chosen.append(name, value);
  return form.getAttribute("action") + (chosen.size ? "?" + chosen : "");
}

for (const form of document.querySelectorAll("form[data-swap]")) {
  let latest = 0;
  const show = () => {
    const own = ++latest, address = addressOf(form);
    setTimeout(() => { if (own === latest && form.checkValidity()) swap(address, form.dataset.swap); }, 150);
  };
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
}

// What is closed on a small screen is open where there is room, as the style sheet shows it already.
if (matchMedia("(min-width: 48.01rem)").matches) {
  for (const part of document.querySelectorAll("details[data-wide]")) part.open = true;
}

addEventListener("popstate", () => { if (place() !== shown) location.reload(); });

// Say that there are new events, and leave it to the reader when to see them. A page that is not looked at does
// not listen: browsers have few connections to one host.
const live = document.getElementById("live");
if (live) {
  const seen = new Set();
  let stream = null;
  const tell = (message) => {
    seen.add(JSON.parse(message.data).id);
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "show";
    live.replaceChildren(seen.size + (seen.size === 1 ? " event is" : " events are") + " new or changed: ", link);
    live.hidden = false;
  };
  const listen = () => {
    if (stream) stream.close();
    stream = document.hidden ? null : new EventSource(live.dataset.changes);
    if (stream) stream.addEventListener("event", tell);
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => { if (stream) stream.close(); });
  listen();
}
