// Lets a page follow the tables: when the console says that something changed, the page is read
// again and takes the place of the old one. Without this script every page works as it is.
"use strict";
(() => {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      document.getElementById("q").focus();
    }
  });
  if (!("live" in document.body.dataset)) return;

  const following = document.getElementById("following");
  const button = document.getElementById("pause");
  const state = document.getElementById("follow-state");
  let paused = false, missed = false, reading = false;
  following.hidden = false;

  // A request for a document is parsed by the browser without a string that becomes markup.
  const read = () => {
    if (reading) { missed = true; return; }
    reading = true;
    missed = false;
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    request.onloadend = () => {
      reading = false;
      if (paused) { missed = true; return; }
      if (request.status === 200 && request.response) show(request.response);
      if (missed) read();
    };
    request.send();
  };

  // show keeps what somebody is doing: the place on the page, the focus, what is typed or selected.
  const show = (page) => {
    const main = document.getElementById("main"), focused = document.activeElement;
    if (main.contains(focused) && focused.matches("input, select, textarea")) { missed = false; return; }
    if (!getSelection().isCollapsed) return;
    const found = page.getElementById("main"), moment = page.querySelector("#moment time");
    if (!found) return;
    const href = main.contains(focused) && focused.getAttribute("href");
    const places = [...main.querySelectorAll(".scroll")].map((part) => part.scrollLeft);
    const open = [...main.querySelectorAll("details")].map((part) => part.open);
    main.replaceChildren(...[...found.childNodes].map((node) => document.importNode(node, true)));
    main.querySelectorAll(".scroll").forEach((part, i) => { part.scrollLeft = places[i] || 0; });
    main.querySelectorAll("details").forEach((part, i) => { if (i < open.length) part.open = open[i]; });
    if (href) [...main.querySelectorAll("a")].find((link) => link.getAttribute("href") === href)?.focus({ preventScroll: true });
    const time = document.querySelector("#moment time");
    if (moment && time) { time.textContent = moment.textContent; time.dateTime = moment.dateTime; }
  };

  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Go on" : "Pause";
    state.textContent = paused ? "The page stands still." : "The page follows the tables.";
    if (!paused && missed) read();
  });

  const source = new EventSource("/live");
  source.addEventListener("changed", () => { if (paused || document.hidden) missed = true; else read(); });
  source.addEventListener("error", () => { if (!paused) state.textContent = "The console does not answer; the page shows what it had."; });
  source.addEventListener("open", () => { if (!paused) state.textContent = "The page follows the tables."; });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && missed && !paused) read(); });
})();
