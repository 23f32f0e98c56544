/* The map: names at the pointer and by keyboard, zoom, groups on and off, highlighting. */
"use strict";
(() => {
  const frame = document.getElementById("map");
  if (!frame) return;
  const svg = frame.querySelector("svg");
  const tip = document.getElementById("tip");
  const status = document.getElementById("status");
  const zoom = document.getElementById("zoom");
  const whole = svg.viewBox.baseVal.width;
  const tall = svg.viewBox.baseVal.height / whole;
  const view = { x: 0, y: 0, size: whole };
  const rows = [...document.getElementById("points").rows].reverse(); // in the order of the marks
  const dots = [...svg.querySelectorAll("[data-c]")].map((mark, i) => {
    const round = mark.tagName === "circle";
    const name = rows[i].cells[0].textContent;
    const link = rows[i].querySelector("a");
    return {
      mark, name, low: name.toLowerCase(), href: link && link.href, colour: mark.dataset.c,
      x: round ? +mark.getAttribute("cx") : +mark.getAttribute("x") + 3,
      y: round ? +mark.getAttribute("cy") : +mark.getAttribute("y") + 3,
    };
  });
  let lit = null;

  function visible(dot) {
    return !dot.mark.classList.contains("off");
  }

  function point(dot) {
    if (lit) lit.mark.classList.remove("lit");
    lit = dot;
    tip.hidden = !dot;
    if (!dot) return;
    dot.mark.classList.add("lit");
    const seen = dot.mark.getBoundingClientRect();
    const box = frame.getBoundingClientRect();
    const x = seen.left + seen.width / 2 - box.left;
    const y = seen.top + seen.height / 2 - box.top;
    tip.textContent = dot.name.length > 160 ? dot.name.slice(0, 159) + "…" : dot.name;
    const half = tip.offsetWidth / 2;
    const left = Math.min(Math.max(x, half + 4), svg.clientWidth - half - 4);
    tip.style.left = left + "px";
    tip.style.top = (y > 60 ? y - tip.offsetHeight - 12 : y + 14) + "px";
  }

  function place(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    return [at.x, at.y];
  }

  function nearest(x, y, fits = () => true) {
    let best = null;
    let least = Infinity;
    for (const dot of dots) {
      const far = (dot.x - x) ** 2 + (dot.y - y) ** 2;
      if (far < least && visible(dot) && fits(dot)) [best, least] = [dot, far];
    }
    return [best, Math.sqrt(least)];
  }

  function look(size, x, y) {
    view.size = Math.min(whole, Math.max(whole / 24, size));
    view.x = Math.min(Math.max(0, x), whole - view.size);
    view.y = Math.min(Math.max(0, y), (whole - view.size) * tall);
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.size} ${view.size * tall}`);
    const grow = Math.sqrt(view.size / whole);
    for (const dot of dots) {
      if (dot.mark.tagName === "circle") dot.mark.setAttribute("r", 5 * grow);
    }
    point(lit);
  }

  function scale(factor, x = view.x + view.size / 2, y = view.y + view.size * tall / 2) {
    const size = Math.min(whole, Math.max(whole / 24, view.size * factor));
    const share = size / view.size;
    look(size, x - (x - view.x) * share, y - (y - view.y) * share);
  }

  let drag = null;
  svg.addEventListener("pointerdown", (event) => {
    drag = { at: place(event), moved: false };
  });
  svg.addEventListener("pointermove", (event) => {
    const [x, y] = place(event);
    if (drag && event.buttons) {
      const [dx, dy] = [drag.at[0] - x, drag.at[1] - y];
      if (drag.moved || Math.hypot(dx, dy) > view.size / 150) {
        drag.moved = true;
        look(view.size, view.x + dx, view.y + dy);
      }
      return;
    }
    const [dot, far] = nearest(x, y);
    point(far * svg.getScreenCTM().a < 18 ? dot : null);
  });
  svg.addEventListener("pointerleave", () => { if (document.activeElement !== svg) point(null); });
  svg.addEventListener("click", () => {
    const moved = drag && drag.moved;
    drag = null;
    if (!moved && lit && lit.href) location.assign(lit.href);
  });
  svg.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
    event.preventDefault();
    scale(event.deltaY < 0 ? 0.8 : 1.25, ...place(event));
  }, { passive: false });

  // By keyboard: an arrow goes to the nearest point in its direction.
  const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application");
  svg.setAttribute("aria-label", "Map of points; arrow keys go from point to point, Enter opens");
  svg.addEventListener("keydown", (event) => {
    if (event.key in ways) {
      const [wx, wy] = ways[event.key];
      const from = lit || { x: view.x + view.size / 2, y: view.y + view.size * tall / 2 };
      const [dot] = nearest(from.x, from.y, (other) => {
        const [dx, dy] = [other.x - from.x, other.y - from.y];
        const along = dx * wx + dy * wy;
        return along > 0.5 && along >= Math.abs(dx * wy + dy * wx);
      });
      if (dot) {
        point(dot);
        status.textContent = dot.name.slice(0, 160);
      }
    } else if (event.key === "Enter" && lit && lit.href) {
      location.assign(lit.href);
    } else if (event.key === "+" || event.key === "-") {
      scale(event.key === "+" ? 0.7 : 1.4, lit ? lit.x : undefined, lit ? lit.y : undefined);
    } else if (event.key === "Escape") {
      point(null);
    } else {
      return;
    }
    event.preventDefault();
  });

  zoom.hidden = false;
  zoom.addEventListener("click", (event) => {
    const way = event.target.dataset.zoom;
    if (way === "all") look(whole, 0, 0);
    else if (way) scale(way === "in" ? 0.6 : 1.67);
  });

  for (const box of document.querySelectorAll("[data-group]")) {
    box.addEventListener("change", () => {
      for (const dot of dots) {
        if (dot.colour === box.dataset.group) dot.mark.classList.toggle("off", !box.checked);
      }
      if (lit && !visible(lit)) point(null);
    });
  }

  const find = document.getElementById("mapfind");
  find.addEventListener("input", () => {
    const text = find.value.trim().toLowerCase();
    let hits = 0;
    for (const dot of dots) {
      const hit = text !== "" && dot.low.includes(text);
      dot.mark.classList.toggle("hit", hit);
      hits += hit;
    }
    svg.classList.toggle("searching", text !== "");
    document.getElementById("mapcount").textContent = text ? `${hits} points` : "";
  });
})();
