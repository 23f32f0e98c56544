/* Names while one types: a combobox over the service's search. Every name is set as text. */
"use strict";
(() => {
  const api = document.body.dataset.api;
  if (!api) return;
  let boxes = 0;

  async function suggestions(input, signal) {
    const text = input.value.trim();
    const kind = input.dataset.search;
    if (kind === "attribute" && !text) {
      const relation = document.getElementById("f-r");
      if (!relation || !relation.value) return [];
      const found = await read("/slots", { relation: relation.value }, signal);
      return (found.attributes || []).slice(0, 12);
    }
    const asked = { kind: kind === "attribute" ? "relation" : kind, q: text, limit: 10 };
    const found = await read("/search", asked, signal);
    return found.names || [];
  }

  async function read(path, query, signal) {
    const answer = await fetch(api + path + "?" + new URLSearchParams(query), { signal });
    return answer.ok ? answer.json() : {};
  }

  function combobox(input) {
    const list = document.createElement("ul");
    list.className = "options";
    list.id = "options-" + ++boxes;
    list.hidden = true;
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Names");
    const holder = document.createElement("span");
    holder.className = "combo";
    input.before(holder);
    holder.append(input, list);
    for (const [key, value] of [["role", "combobox"], ["aria-autocomplete", "list"],
      ["aria-expanded", "false"], ["aria-controls", list.id]]) input.setAttribute(key, value);

    let at = -1;
    let timer = 0;
    let running = null;

    function close() {
      if (running) running.abort();
      clearTimeout(timer);
      list.hidden = true;
      at = -1;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
    }

    function choose(option) {
      input.value = option.dataset.label;
      close();
      input.dispatchEvent(new Event("change", { bubbles: true }));
      if ("submit" in input.dataset) input.form.requestSubmit();
    }

    function mark(next) {
      const options = list.children;
      if (!options.length) return;
      if (at >= 0) options[at].setAttribute("aria-selected", "false");
      at = (next + options.length) % options.length;
      options[at].setAttribute("aria-selected", "true");
      options[at].scrollIntoView({ block: "nearest" });
      input.setAttribute("aria-activedescendant", options[at].id);
    }

    function show(found) {
      list.replaceChildren(...found.map((item, i) => {
        const option = document.createElement("li");
        option.id = list.id + "-" + i;
        option.setAttribute("role", "option");
        option.setAttribute("aria-selected", "false");
        option.dataset.label = item.label;
        const name = document.createElement("bdi");
        name.textContent = item.label.length > 96 ? item.label.slice(0, 95) + "…" : item.label;
        if (item.label !== item.name) name.title = item.name;
        const count = document.createElement("span");
        count.textContent = Number(item.facts).toLocaleString("en");
        count.title = "facts";
        option.append(name, count);
        option.addEventListener("mousedown", (event) => {
          event.preventDefault();
          choose(option);
        });
        return option;
      }));
      at = -1;
      list.hidden = !found.length;
      input.setAttribute("aria-expanded", String(!list.hidden));
    }

    async function look() {
      if (running) running.abort();
      running = new AbortController();
      try {
        const found = await suggestions(input, running.signal);
        if (document.activeElement === input) show(found);
      } catch (error) {
        if (error.name !== "AbortError") close();
      }
    }

    const soon = () => {
      clearTimeout(timer);
      timer = setTimeout(look, 120);
    };
    input.addEventListener("input", soon);
    input.addEventListener("focus", () => { if (!input.value) soon(); });
    input.addEventListener("click", () => { if (list.hidden) soon(); });
    input.addEventListener("blur", close);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") {
        if (list.hidden) look(); else mark(at + 1);
      } else if (event.key === "ArrowUp" && !list.hidden) {
        mark(at < 0 ? -1 : at - 1);
      } else if (event.key === "Enter" && at >= 0 && !list.hidden) {
        choose(list.children[at]);
      } else if (event.key === "Escape" && !list.hidden) {
        close();
      } else {
        return;
      }
      event.preventDefault();
    });
  }

  window.hyperfactNames = (root) => {
    for (const input of root.querySelectorAll("input[data-search]")) {
      if (!input.closest(".combo")) combobox(input);
    }
  };
  window.hyperfactNames(document);
})();
