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

  const main = document.getElementById("main");
  const button = document.getElementById("pause");
  const state = document.getElementById("follow-state");
  let paused = false, missed = false, reading = false;
  document.getElementById("following").hidden = false;

  // busy: somebody types, selects or presses something, which a new page would take away. A click needs that its element
  // is still there when the button is released.
  const busy = () => !getSelection().isCollapsed || main.matches(":active") ||
    main.contains(document.activeElement) && document.activeElement.matches("input, select, textarea");

  // A request for a document is parsed by the browser without a string that becomes markup.
  const read = () => {
    if (reading || paused || document.hidden || busy()) { missed = true; return; }
    reading = true;
    missed = false;
    const request = new XMLHttpRequest();
    request.open("GET", location.href);
    request.responseType = "document";
    request.setRequestHeader("Accept", "text/html");
    request.onloadend = () => {
      reading = false;
      if (paused || busy()) { missed = true; return; }
      const answered = request.status === 200 && request.response;
      if (answered) show(request.response);
      state.textContent = answered ? "The page follows the tables." : "The page cannot be updated now. It shows an earlier moment.";
      if (missed) read();
    };
    request.send();
  };
  const readMissed = () => { if (missed) read(); };

  // parts are what a new page keeps: what has the focus, what is scrolled, what is open.
  const parts = (tags) => [...main.querySelectorAll(tags)];
  const keyOf = (part) => [part.localName, part.getAttribute("href"), part.getAttribute("aria-label"),
    part.closest("tr, li")?.querySelector("a")?.getAttribute("href")].join("\n");
  const sameAs = (part) => (other) => keyOf(other) === keyOf(part);

  const show = (page) => {
    const found = page.getElementById("main");
    if (!found) return;
    for (const part of ["#moment time", "#position"]) {
      const now = page.querySelector(part);
      if (now) document.querySelector(part)?.replaceWith(document.importNode(now, true));
    }
    if (found.isEqualNode(main)) return;
    const focused = main.contains(document.activeElement) && document.activeElement;
    const which = focused && parts(focused.localName).filter(sameAs(focused)).indexOf(focused);
    const place = [scrollX, scrollY], places = parts(".scroll, pre").map((part) => [part.scrollLeft, part.scrollTop]);
    const open = parts("details").map((part) => part.open);
    main.replaceChildren(...[...found.childNodes].map((node) => document.importNode(node, true)));
    parts(".scroll, pre").forEach((part, i) => { if (i < places.length) [part.scrollLeft, part.scrollTop] = places[i]; });
    parts("details").forEach((part, i) => { if (i < open.length) part.open = open[i]; });
    if (focused) parts(focused.localName).filter(sameAs(focused))[which]?.focus({ preventScroll: true });
    scrollTo(...place); // a browser may move the page when what it showed at its top is gone
  };

  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume" : "Pause";
    state.textContent = paused ? "The page is paused." : "The page follows the tables.";
    readMissed();
  });

  const source = new EventSource("/live");
  source.addEventListener("changed", read);
  source.addEventListener("error", () => { if (!paused) state.textContent = "The console does not answer. The page shows an earlier moment."; });
  source.addEventListener("open", () => { if (!paused) state.textContent = "The page follows the tables."; });
  document.addEventListener("visibilitychange", readMissed);
  document.addEventListener("selectionchange", readMissed);
  main.addEventListener("focusout", readMissed);
  for (const released of ["pointerup", "pointercancel"]) document.addEventListener(released, () => setTimeout(readMissed));
})();
