// What lies where it should not, in words: beyond the window or its frame, cut off, on top.
() => {
  const FRAMES = ".card, .chip, .node, .badge, .mark, .corner, .button, button, summary, label, "
    + "header, main, td, th, dt, dd";
  const wrong = new Set();
  const say = (what, element, text = "") => {
    const kind = `${element.tagName}.${element.getAttribute("class") || ""}`;
    wrong.add(`${what}: ${kind} ${text.trim().slice(0, 60)}`);
  };
  const style = (element) => getComputedStyle(element);
  const scrolls = (element) => /auto|scroll/.test(style(element).overflowX);
  const hidden = (element) => element.matches(".hidden, .skip, svg, option")
    || style(element).clipPath !== "none" || style(element).textOverflow === "ellipsis";

  const widest = Math.max(document.documentElement.scrollWidth, document.body.scrollWidth);
  if (widest > innerWidth) wrong.add(`the page is ${widest} wide`);

  // Every text lies in the frame around it, and no number goes over two lines.
  const lines = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.data.trim() || !parent.checkVisibility({ visibilityProperty: true })) continue;
    const path = [];
    for (let element = parent; element; element = element.parentElement) path.push(element);
    if (path.some(hidden)) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const places = [...range.getClientRects()].filter((place) => place.width >= 1);
    const tops = new Set(places.map((place) => Math.round(place.top)));
    if (/^[\d.,]+$/.test(node.data.trim()) && tops.size > 1) say("is broken", parent, node.data);
    const frame = path.find((e) => e.matches(FRAMES) || scrolls(e)) || document.body;
    const box = frame.getBoundingClientRect();
    const right = box.right - parseFloat(style(frame).paddingRight) / 2;
    for (const place of places) {
      const inside = place.left >= box.left - 1 && place.right <= right + 1;
      if (!inside && !scrolls(frame)) say("leaves its frame", frame, node.data);
      if (!path.some(scrolls)) lines.push({ place, parent, node });
    }
  }

  // Nothing is cut off without a way to scroll there.
  for (const element of document.querySelectorAll("body *:not(svg, svg *, input, select)")) {
    const cut = /hidden|clip/.test(style(element).overflowX) && !hidden(element);
    if (cut && element.scrollWidth > element.clientWidth + 1) say("is cut off", element);
  }

  // No text lies on another.
  lines.sort((a, b) => a.place.top - b.place.top);
  lines.forEach(({ place: a, parent, node }, i) => {
    for (let j = i + 1; j < lines.length && lines[j].place.top < a.bottom; j++) {
      const b = lines[j].place;
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      const meet = across > 3 && down > 0.5 * Math.min(a.height, b.height);
      if (meet && lines[j].node !== node) say(`lies on ${lines[j].node.data}`, parent, node.data);
    }
  });
  return [...wrong];
}
