// Brings the page up to date while somebody looks at it. The server sends the parts that have changed;
// here they are exchanged, so that focus, selection and what is unfolded stay where they are.
"use strict";

const SILENCE_MILLISECONDS = 15000; // the server says something every five seconds
const AGAIN_MILLISECONDS = 2000;
const notice = document.getElementById("notice");
let stream = null;
let watchdog = 0;
let again = 0;
let whole = false; // whether the next message has all parts

function say(words) {
  if (notice.textContent !== words) {
    notice.textContent = words;
  }
  notice.hidden = !words;
}

function lost() {
  say("No word from the aggregator: what you see is old. Trying again …");
}

function guard() {
  clearTimeout(watchdog);
  watchdog = setTimeout(() => {
    lost();
    connect();
  }, SILENCE_MILLISECONDS);
}

function lacks(ids) {
  const tasks = ids.filter((id) => id.endsWith("-headline")).length;
  // None at all: the store could not be read, and what is shown stays.
  return whole && tasks > 0 && tasks < document.querySelectorAll("article").length;
}

function take(event) {
  say("");
  guard();
  const news = JSON.parse(event.data);
  if (news === null) {
    return; // a sign of life
  }
  const ids = Object.keys(news.parts);
  const other = news.shape !== document.body.dataset.shape || lacks(ids);
  whole = false;
  if (other || ids.some((id) => !document.getElementById(id))) {
    stream.close();
    location.reload(); // another aggregator runs here, or one with other tasks
    return;
  }
  for (const id of ids) {
    show(document.getElementById(id), news.parts[id]);
  }
}

function show(old, html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").body;
  const state = new Map(
    [...old.querySelectorAll("details")].map((details) => [details.id, details.open]),
  );
  for (const details of fresh.querySelectorAll("details")) {
    details.open = state.get(details.id) ?? details.open;
  }
  if (fresh.innerHTML === old.innerHTML) {
    return;
  }
  const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
  const places = new Map([...old.querySelectorAll(".frame")].map((box) => [box.id, box.scrollTop]));
  old.replaceChildren(...fresh.childNodes);
  for (const [id, top] of places) {
    document.getElementById(id)?.scrollTo(0, top);
  }
  if (focused) {
    document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

function connect() {
  clearTimeout(again);
  stream?.close();
  guard();
  stream = new EventSource("/events");
  stream.onopen = () => {
    whole = true;
  };
  stream.onmessage = take;
  stream.onerror = () => {
    lost();
    if (stream.readyState === EventSource.CLOSED) {
      again = setTimeout(connect, AGAIN_MILLISECONDS); // the browser has given up; we do not
    }
  };
}

function look() {
  clearTimeout(watchdog);
  clearTimeout(again);
  stream?.close(); // who does not look needs no stream, and a browser has few for all its pages
  if (!document.hidden) {
    connect();
  }
}

document.addEventListener("visibilitychange", look);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && document.activeElement?.classList.contains("term")) {
    document.activeElement.blur(); // closes its explanation
  }
});
look();
