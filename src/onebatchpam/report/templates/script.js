"use strict";
(() => {
  const root = document.documentElement;
  const button = document.querySelector(".theme");
  const order = ["auto", "light", "dark"];
  let theme = "auto";
  const remember = (value) => { try { localStorage.setItem("onebatchpam-theme", value); } catch (error) { /* no storage */ } };
  const show = () => {
    if (theme === "auto") root.removeAttribute("data-theme"); else root.dataset.theme = theme;
    if (button) button.textContent = `Theme: ${theme}`;
  };
  try { theme = localStorage.getItem("onebatchpam-theme") || "auto"; } catch (error) { /* no storage */ }
  if (!order.includes(theme)) theme = "auto";
  show();
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      theme = order[(order.indexOf(theme) + 1) % order.length];
      remember(theme);
      show();
    });
  }

  const key = (row, column) => {
    const cell = row.children[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };
  const compare = (a, b) => {
    const x = Number(a), y = Number(b);
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      const label = heading.textContent.trim();
      const control = document.createElement("button");
      control.type = "button";
      control.textContent = label;
      heading.replaceChildren(control);
      control.addEventListener("click", () => {
        const descending = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((each) => each.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => compare(key(a, column), key(b, column)) * (descending ? -1 : 1));
        table.tBodies[0].append(...rows);
      });
    });
  }

  const details = [...document.querySelectorAll("details.cluster")];
  const more = document.querySelector(".more");
  if (more) {
    more.hidden = false;
    more.addEventListener("click", () => {
      const open = details.some((each) => !each.open);
      details.forEach((each) => { each.open = open; });
      more.textContent = open ? "Close all" : "Open all";
    });
  }
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = details.filter((each) => !each.open);
    opened.forEach((each) => { each.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((each) => { each.open = false; }));
  const target = () => {
    const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (found && found.matches("details")) found.open = true;
  };
  addEventListener("hashchange", target);
  target();
})();
