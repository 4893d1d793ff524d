// Filters and sorting for the table of a scoreboard. What is chosen stands in the
// address, so that a selection can be sent to somebody.
(() => {
  const form = document.querySelector("form.board-filters:not(.own)");
  const table = document.querySelector("table.board");
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const words = rows.map((row) => row.textContent.toLowerCase());
  const fields = [...form.elements].filter((field) => field.name);
  const FEW = 8; // rows whose folds are opened at once
  let sort = 0; // 3: upwards by the third column, -3: downwards, 0: as in the book

  // What a row has under a name; "a b|c" are two cases, the first with two values. A row
  // fits if one of its cases has all that is chosen.
  const cases = (row, name) => row.getAttribute(`data-${name.replaceAll(" ", "-")}`).split("|");
  const asked = (text) => text.toLowerCase().split(/\s+/);
  const fits = (row, at) => {
    const chosen = fields.filter(({ name, value }) => value && name !== "words");
    const wanted = fields.find(({ name }) => name === "words").value;
    const every = chosen.map(({ name, value }) =>
      cases(row, name).map((one) => one.split(" ").includes(value)));
    const most = Math.max(1, ...every.map((one) => one.length));
    return asked(wanted).every((word) => words[at].includes(word))
      && [...Array(most).keys()].some((k) => every.every((one) => one[k % one.length]));
  };
  const key = (row) => Number(row.cells[Math.abs(sort) - 1].dataset.key);

  function show() {
    let count = 0;
    rows.forEach((row, at) => { count += !(row.hidden = !fits(row, at)); });
    const order = sort ? [...rows].sort((a, b) => (key(a) - key(b)) * sort) : rows;
    body.append(...order);
    rows.forEach((row) => {
      const fold = row.querySelector("details");
      if (fold) fold.open = !row.hidden && count <= FEW;
    });
    form.querySelector("output").value = `${count} of ${rows.length}`;
    [...table.tHead.rows[0].cells].forEach((cell, at) => {
      const here = Math.abs(sort) === at + 1;
      if (here) cell.setAttribute("aria-sort", sort > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
  }
  function address() {
    return new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");
  }
  function keep() {
    const chosen = address(); // another form of the page keeps what it has there
    [...fields.map(({ name }) => name), "sort"].forEach((name) => chosen.delete(name));
    fields.forEach(({ name, value }) => value && chosen.set(name, value));
    if (sort) chosen.set("sort", sort);
    const place = location.pathname + location.search;
    history.replaceState(null, "", chosen.size ? `#${chosen}` : place);
    show();
  }
  function read() {
    const chosen = address();
    fields.forEach((field) => { field.value = chosen.get(field.name) ?? ""; });
    const number = Number(chosen.get("sort"));
    const column = table.tHead.rows[0].cells[Math.abs(number) - 1];
    sort = column?.dataset.sorts === undefined ? 0 : number;
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
  document.querySelector("tr:target details")?.setAttribute("open", "");
})();
