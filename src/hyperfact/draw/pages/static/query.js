/* The form of a query: variables have colours, and a click puts one into the field one is in. */
"use strict";
(() => {
  const form = document.getElementById("facts");
  const palette = document.getElementById("palette");
  if (!form || !palette) return;
  const names = [...palette.querySelectorAll("[data-variable]")].map((b) => b.dataset.variable);
  let last = form.querySelector("input.term");

  function colour(input) {
    names.forEach((_, i) => input.classList.remove("hue" + i));
    const at = names.indexOf(input.value.trim());
    input.classList.toggle("hued", at >= 0);
    if (at >= 0) input.classList.add("hue" + at);
  }

  palette.hidden = false;
  for (const input of form.querySelectorAll("input.term")) {
    colour(input);
    input.addEventListener("focus", () => { last = input; });
    input.addEventListener("input", () => colour(input));
    input.addEventListener("change", () => colour(input));
  }
  palette.addEventListener("click", (event) => {
    const name = event.target.dataset.variable;
    if (!name || !last) return;
    last.value = name;
    colour(last);
    last.focus();
  });
})();
