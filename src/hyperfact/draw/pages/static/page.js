/* Explanations and what-if without leaving the page: the same address, only one part replaced. */
"use strict";
(() => {
  const status = document.getElementById("status");
  let running = null;

  async function swap(address, part, focus) {
    const old = document.querySelector(part);
    if (running) running.abort();
    running = new AbortController();
    old.setAttribute("aria-busy", "true");
    status.textContent = "Working …";
    try {
      const answer = await fetch(address, { signal: running.signal });
      const text = await answer.text();
      const other = new DOMParser().parseFromString(text, "text/html");
      const found = other.querySelector(part);
      if (!answer.ok || !found) {
        location.assign(answer.url);
        return;
      }
      const fresh = document.importNode(found, true);
      old.replaceWith(fresh);
      window.hyperfactNames(fresh);
      document.title = other.title;
      history.pushState({}, "", answer.url);
      const target = document.querySelector(focus);
      if (target) {
        target.focus({ preventScroll: true });
        const box = target.getBoundingClientRect();
        const seen = box.top >= 0 && box.bottom < 0.6 * innerHeight; // with what stands below it
        if (!seen) target.scrollIntoView({ block: "start" });
        status.textContent = target.textContent;
      }
    } catch (error) {
      if (error.name !== "AbortError") location.assign(address);
    }
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-swap]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    swap(link.href, link.dataset.swap, link.dataset.focus);
  });

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-swap]");
    if (!form) return;
    event.preventDefault();
    const address = new URL(form.action);
    address.search = new URLSearchParams(new FormData(form)).toString();
    swap(address.href, form.dataset.swap, form.dataset.focus);
  });

  addEventListener("popstate", () => location.reload());
})();
