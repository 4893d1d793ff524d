/* The theme lets a keyboard into what scrolls sideways, but looks only when the size of
   the window changes: a fold that opens shows code and tables that may scroll, too. */
document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);
for (const event of ["load", "resize"]) {
  addEventListener(event, () => {
    for (const formula of document.querySelectorAll(".katex-display")) {
      if (formula.scrollWidth > formula.clientWidth) formula.tabIndex = 0;
      else formula.removeAttribute("tabindex");
    }
  });
}

/* Folds, tables and lists say to a screen reader what they are: a branch of the contents
   is named after its page, a fold of code by its own words, a table after its fold. */
document.addEventListener("DOMContentLoaded", () => {
  for (const fold of document.querySelectorAll("details > summary")) {
    const page = fold.parentElement.previousElementSibling;
    if (fold.innerText.trim()) fold.removeAttribute("aria-label");
    else if (page) fold.setAttribute("aria-label", `Pages of ${page.innerText.trim()}`);
  }
  for (const table of document.querySelectorAll(".cell table:not(:has(caption))")) {
    const fold = table.closest("details")?.querySelector("summary")
      ?? table.closest(".cell").querySelector(".admonition-title");
    const words = fold?.textContent.trim().replace(/^Code: /, "");
    if (words) table.createCaption().append(words);
    if (words) table.caption.className = "visually-hidden";
  }
  for (const list of document.querySelectorAll(".citation-list, [role=doc-biblioentry]")) {
    list.removeAttribute("role");
  }
  /* The squares of claims are one stop of the tab key; the arrow keys go on from there. */
  const squares = [...document.querySelectorAll(".matrix .square")];
  if (squares.length) squares[0].tabIndex = 0;
  document.addEventListener("keydown", (event) => {
    const rows = [...document.querySelectorAll(".matrix tr")], row = event.target.closest("tr");
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key], on = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const at = squares.indexOf(event.target);
    if (at < 0 || !(down || on)) return;
    const next = on ? squares[at + on] : rows[rows.indexOf(row) + down]?.querySelector(".square");
    if (!next) return;
    event.preventDefault();
    [event.target.tabIndex, next.tabIndex] = [-1, 0];
    next.focus();
  });
  /* One switch for the code of a page in place of a bar per cell. */
  const code = document.querySelectorAll("details.above-input");
  const top = document.querySelector("article .verdict-box");
  if (top && code.length) {
    const button = document.createElement("button");
    const set = (on) => {
      document.documentElement.classList.toggle("without-code", !on);
      for (const fold of code) fold.open = on;
      button.textContent = on ? "Hide the code of this page" : "Show the code of this page";
    };
    button.className = "code-switch";
    button.onclick = () => set(document.documentElement.classList.contains("without-code"));
    set(false);
    top.append(button);
  }
});

/* A picture opens over its page; Escape, a click or its button close it. With a modifier,
   or without this script, it is a link to the picture alone. */
document.addEventListener("click", (event) => {
  const link = event.target.closest("a.enlarge");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const box = document.createElement("dialog"), image = link.querySelector("img").cloneNode();
  image.src = link.href;
  box.className = "lightbox";
  box.ariaLabel = "The picture, enlarged";
  box.append(Object.assign(document.createElement("button"), { textContent: "Close" }), image);
  box.onclick = () => box.close();
  box.onclose = () => { box.remove(); link.focus(); };
  document.body.append(box);
  box.showModal();
});
