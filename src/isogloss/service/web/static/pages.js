// Optional: pages work without it. It applies filters at once and announces new events.
"use strict";

// The URL of the current content; jumps to anchors do not change it.
const currentUrl = () => location.pathname + location.search;
let shown = currentUrl();

// Replace an element by the same element of another page, unless another swap has started since.
let requested = "";
async function swap(url, id) {
  requested = url;
  const response = await fetch(url, { headers: { accept: "text/html" } });
  if (!response.ok) { location.assign(url); return; }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  if (requested !== url) return;
  const fresh = page.getElementById(id), old = document.getElementById(id);
  if (!fresh || !old) { location.assign(url); return; }
  old.replaceWith(document.adoptNode(fresh));
  document.getElementById("announcement").textContent = fresh.dataset.announcement;
  history.pushState(null, "", url);
  shown = currentUrl();
}

// The URL of a form, without fields that are empty or have their default value.
function formUrl(form) {
  const chosen = new URLSearchParams();
  const defaultOf = (name) => (form.elements[name].dataset || {}).default || "";
  for (const [name, value] of new FormData(form)) if (value !== "" && value !== defaultOf(name)) chosen.append(name, value);
  return form.getAttribute("action") + (chosen.size ? "?" + chosen : "");
}

for (const form of document.querySelectorAll("form[data-swap]")) {
  let latest = 0;
  const show = () => {
    const own = ++latest, url = formUrl(form);
    setTimeout(() => { if (own === latest && form.checkValidity()) swap(url, form.dataset.swap); }, 150);
  };
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
}

// Open on wide screens what is collapsed on small ones; the style sheet shows it open already.
if (matchMedia("(min-width: 48.01rem)").matches) {
  for (const part of document.querySelectorAll("details[data-wide]")) part.open = true;
}

// Close the menu of further pages on a click outside and on Escape.
const more = document.querySelector(".more");
if (more) {
  document.addEventListener("click", (event) => { if (!more.contains(event.target)) more.open = false; });
  more.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    more.open = false;
    more.querySelector("summary").focus();
  });
}

addEventListener("popstate", () => { if (currentUrl() !== shown) location.reload(); });

// Announce new events and let the reader decide when to load them. Hidden pages disconnect: browsers allow few
// connections to one host.
const live = document.getElementById("live");
if (live) {
  const seen = new Set();
  let stream = null;
  const announce = (message) => {
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
    if (stream) stream.addEventListener("event", announce);
  };
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => { if (stream) stream.close(); });
  listen();
}
