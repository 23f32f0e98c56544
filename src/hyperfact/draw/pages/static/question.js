/* The form of a question: rows of qualifiers come and go. */
"use strict";
(() => {
  const rows = document.getElementById("rows");
  const more = document.getElementById("more");
  if (!rows || !more) return;
  const most = 24;
  const pattern = rows.querySelector(".spare").cloneNode(true);
  let last = rows.children.length;

  function prepare(row) {
    const drop = row.querySelector(".drop");
    drop.hidden = false;
    drop.addEventListener("click", () => {
      if (row.querySelector("input[type=radio]:checked")) {
        document.querySelector("input[type=radio][value=o]").checked = true;
      }
      row.remove();
      more.hidden = false;
      more.focus();
    });
  }

  function numbered(number) {
    const row = pattern.cloneNode(true);
    row.classList.remove("spare");
    for (const [letter, word] of [["a", "attribute"], ["v", "value"]]) {
      const cell = row.querySelector(`.cell[data-field=${letter}]`);
      const input = cell.querySelector("input.text");
      const radio = cell.querySelector("input[type=radio]");
      const label = `${word} ${number}`;
      cell.querySelector("label").htmlFor = input.id = `f-${letter}${number}`;
      cell.querySelector("label").textContent = label;
      input.name = radio.value = letter + number;
      radio.checked = false;
      radio.setAttribute("aria-label", `Ask for the ${label}`);
      radio.parentElement.title = `Ask for the ${label}`;
    }
    return row;
  }

  rows.querySelector(".spare").remove();
  last -= 1;
  for (const row of rows.children) prepare(row);
  more.hidden = last >= most;
  more.addEventListener("click", () => {
    last += 1;
    const row = numbered(last);
    rows.append(row);
    prepare(row);
    window.hyperfactNames(row);
    more.hidden = last >= most;
    row.querySelector("input.text").focus();
  });

  // What is asked for keeps its text, so that moving the blank back brings it back.
  document.getElementById("builder").addEventListener("change", (event) => {
    if (event.target.type !== "radio") return;
    const status = document.getElementById("status");
    status.textContent = event.target.getAttribute("aria-label");
  });
})();
