// Filters and sorting for the table of a scoreboard. What is chosen stands in the
// address, so that a selection can be sent to somebody.
(() => {
  const form = document.querySelector("form.board-filters");
  const table = document.querySelector("table.board");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const words = rows.map((row) => row.textContent.toLowerCase());
  const fields = [...form.elements].filter((field) => field.name);
  let sort = 0; // 3: upwards by the third column, -3: downwards, 0: as in the book

  const fits = (row, at) => fields.every(({ name, value }) => {
    if (!value) return true;
    if (name === "words") {
      return value.toLowerCase().split(/\s+/).every((word) => words[at].includes(word));
    }
    return row.dataset[name].split(" ").includes(value);
  });
  const key = (row) => Number(row.cells[Math.abs(sort) - 1].dataset.key);

  function show() {
    let count = 0;
    rows.forEach((row, at) => { count += !(row.hidden = !fits(row, at)); });
    const order = sort ? [...rows].sort((a, b) => (key(a) - key(b)) * sort) : rows;
    body.append(...order);
    form.querySelector("output").value = `${count} of ${rows.length}`;
    [...table.tHead.rows[0].cells].forEach((cell, at) => {
      const here = Math.abs(sort) === at + 1;
      if (here) cell.setAttribute("aria-sort", sort > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
  }
  function keep() {
    const chosen = new URLSearchParams();
    fields.forEach(({ name, value }) => value && chosen.set(name, value));
    if (sort) chosen.set("sort", sort);
    const place = location.pathname + location.search;
    history.replaceState(null, "", chosen.size ? `#${chosen}` : place);
    show();
  }
  function read() {
    const chosen = new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
    fields.forEach((field) => { field.value = chosen.get(field.name) ?? ""; });
    const asked = Number(chosen.get("sort"));
    const column = table.tHead.rows[0].cells[Math.abs(asked) - 1];
    sort = column?.dataset.sorts === undefined ? 0 : asked;
    show();
  }
  table.querySelectorAll("th[data-sorts]").forEach((cell) => {
    const button = document.createElement("button");
    button.append(...cell.childNodes);
    cell.append(button);
    const column = cell.cellIndex + 1;
    button.onclick = () => { sort = sort === column ? -column : sort === -column ? 0 : column; keep(); };
  });
  form.oninput = keep;
  form.onsubmit = () => false;
  form.onreset = () => { sort = 0; setTimeout(keep); };
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();
