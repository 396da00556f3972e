// Brings the page up to date once a second, while somebody looks at it. The server makes the whole
// page anew; here only those parts are exchanged that have changed, so that focus, selection and
// what is unfolded stay where they are.
"use strict";

const PAUSE_MILLISECONDS = 1000;
const LONGEST_WAIT_MILLISECONDS = 5000;
const notice = document.getElementById("notice");
const seen = new Map(); // part -> its HTML as the server has sent it
let timer = 0;
let asking = false;

function say(words) {
  notice.textContent = words;
  notice.hidden = !words;
}

function remember(page) {
  for (const part of page.querySelectorAll("[data-live]")) {
    seen.set(part.id, part.innerHTML);
  }
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  const parts = fresh.querySelectorAll("[data-live]");
  if ([...parts].some((part) => !document.getElementById(part.id))) {
    location.reload(); // another page altogether: there was trouble, or there is
    return;
  }
  for (const part of parts) {
    if (part.innerHTML !== seen.get(part.id)) {
      seen.set(part.id, part.innerHTML);
      exchange(document.getElementById(part.id), part);
    }
  }
}

function exchange(old, part) {
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const unfolded = [...old.querySelectorAll("details[open]")].map((details) => details.id);
  old.replaceChildren(...part.childNodes);
  for (const id of unfolded) {
    document.getElementById(id)?.setAttribute("open", "");
  }
  if (focused) {
    document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

async function ask(address, options) {
  const signal = AbortSignal.timeout(LONGEST_WAIT_MILLISECONDS);
  const answer = await fetch(address, { cache: "no-store", signal, ...options });
  const text = await answer.text();
  if (answer.ok) {
    show(text);
  }
  return answer.ok ? "" : text;
}

async function refresh() {
  clearTimeout(timer);
  if (asking || document.hidden) {
    return;
  }
  asking = true;
  try {
    say(await ask("/"));
  } catch {
    say("The device does not answer. What you see may be old.");
  }
  asking = false;
  if (!document.hidden) {
    timer = setTimeout(refresh, PAUSE_MILLISECONDS);
  }
}

document.addEventListener("visibilitychange", refresh);
document.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(event.target, event.submitter);
  try {
    say(await ask(event.target.action, { method: "POST", body: new URLSearchParams(form) }));
  } catch {
    say("The device does not answer. Your press was not taken.");
  }
});
remember(document);
timer = setTimeout(refresh, PAUSE_MILLISECONDS);
