"use strict";
(() => {
  // Extras only: everything on the page is there without this script.
  const root = document.documentElement;
  const button = document.querySelector(".theme");
  const dark = () => root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  const name = () => {
    button.textContent = dark() ? "Light" : "Dark";
    button.setAttribute("aria-label", "Use " + button.textContent.toLowerCase() + " colours");
  };
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    name();
  });

  // Reading a chart: the nearest row of its table, beside the pointer. Made when first pointed at.
  const wire = (area) => {
    const figure = area.closest("figure");
    const rows = [...figure.querySelectorAll("tr[data-x]")];
    if (!rows.length) return;
    const heads = [...figure.querySelectorAll("thead th")].map((th) => th.textContent);
    const places = rows.map((row) => Number(row.dataset.x));
    const line = document.createElement("div");
    const box = document.createElement("div");
    line.className = "cursor";
    box.className = "readout";
    line.hidden = box.hidden = true;
    area.append(line, box);
    const show = (share) => {
      let best = 0;
      for (let i = 1; i < places.length; ++i)
        if (Math.abs(places[i] - share) < Math.abs(places[best] - share)) best = i;
      box.textContent = "";
      [...rows[best].cells].forEach((cell, i) => {
        const entry = document.createElement("div");
        const label = document.createElement("span");
        const value = document.createElement("b");
        label.textContent = heads[i];
        value.textContent = cell.textContent;
        entry.append(label, value);
        box.append(entry);
      });
      line.style.left = 100 * places[best] + "%";
      box.style.left = places[best] < 0.5 ? 100 * places[best] + "%" : "auto";
      box.style.right = places[best] < 0.5 ? "auto" : 100 * (1 - places[best]) + "%";
      line.hidden = box.hidden = false;
    };
    const read = (event) => {
      const place = area.getBoundingClientRect();
      show((event.clientX - place.left) / place.width);
    };
    area.addEventListener("pointermove", read);
    area.addEventListener("pointerleave", () => { line.hidden = box.hidden = true; });
  };
  const wired = new WeakSet();
  document.addEventListener("pointerover", (event) => {
    const area = event.target.closest(".area");
    if (!area || wired.has(area)) return;
    wired.add(area);
    wire(area);
  });

  // Lines can be switched off where there are several.
  for (const key of document.querySelectorAll(".legend li[data-k]")) {
    const figure = key.closest("figure");
    const group = figure.querySelector(`svg g[data-k="${key.dataset.k}"]`);
    if (!group || figure.querySelector(".layer")) continue;
    key.tabIndex = 0;
    key.setAttribute("role", "button");
    key.setAttribute("aria-pressed", "true");
    const toggle = () => key.setAttribute("aria-pressed", String(!group.classList.toggle("off")));
    key.addEventListener("click", toggle);
    key.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggle();
      }
    });
  }
})();
