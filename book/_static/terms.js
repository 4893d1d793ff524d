// A definition beside its term, under the pointer or the focus; Escape hides it.
document.addEventListener("DOMContentLoaded", () => {
  const terms = "a[aria-describedby^='define-term-']";
  for (const link of document.querySelectorAll("a[href*='glossary.html#term-']")) {
    const id = `define-${link.hash.slice(1)}`;
    if (document.getElementById(id)) link.setAttribute("aria-describedby", id);
  }
  const box = document.createElement("div");
  box.className = "definition";
  box.setAttribute("aria-hidden", "true"); // the link is described by the original
  box.popover = "manual";
  let asked;
  const hide = () => { clearTimeout(asked); if (box.isConnected) box.hidePopover(); };
  const show = (link) => {
    const text = document.getElementById(link.getAttribute("aria-describedby"));
    box.replaceChildren(...text.cloneNode(true).childNodes);
    // what is inside is no stop of the keyboard: the box goes when the focus comes
    for (const one of box.querySelectorAll("a, [tabindex]")) one.tabIndex = -1;
    link.after(box);
    box.showPopover();
    const at = link.getClientRects()[0], edge = 8;
    const right = document.documentElement.clientWidth - box.offsetWidth - edge;
    const below = at.bottom + edge / 2, above = at.top - box.offsetHeight - edge / 2;
    const fits = below + box.offsetHeight < innerHeight || above < 0;
    box.style.left = `${Math.max(edge, Math.min(at.left, right))}px`;
    box.style.top = `${fits ? below : above}px`;
  };
  const leave = (event) => {
    const to = event.relatedTarget;
    if (!to || !(box.contains(to) || to.closest?.(terms))) asked = setTimeout(hide, 200);
  };
  for (const link of document.querySelectorAll(terms)) {
    link.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "mouse") return; // a tap follows the link
      clearTimeout(asked);
      asked = setTimeout(() => show(link), 150);
    });
    link.addEventListener("pointerleave", leave);
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
  }
  box.addEventListener("pointerenter", () => clearTimeout(asked));
  box.addEventListener("pointerleave", leave);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("scroll", hide, { passive: true });
});
