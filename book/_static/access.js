/* The theme lets a keyboard into what scrolls sideways, but looks only when the size of
   the window changes: a fold that opens shows code and tables that may scroll, too. */
document.addEventListener("toggle", () => dispatchEvent(new Event("resize")), true);
