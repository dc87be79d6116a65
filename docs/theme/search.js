"use strict";
// Search in the site's own index, which is a script: pages read from disk may fetch nothing.
(() => {
  const sought = document.getElementById("sought");
  const found = document.getElementById("found");
  const root = new URL(".", document.currentScript.src);
  // On a narrow screen the contents are there to be opened.
  if (matchMedia("(max-width: 52rem)").matches) document.querySelector(".menu").removeAttribute("open");

  const around = (text, word) => {
    const at = text.toLowerCase().indexOf(word);
    return at < 0 ? text.slice(0, 140) : `${at > 60 ? "…" : ""}${text.slice(Math.max(0, at - 60), at + 80)}…`;
  };
  const show = () => {
    const words = sought.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = words.length === 0 ? [] : SEARCHED
      .map((part) => ({ part, title: part.title.toLowerCase(), text: part.text.toLowerCase() }))
      .filter(({ title, text }) => words.every((word) => title.includes(word) || text.includes(word)))
      .sort((a, b) => Number(b.title.includes(words[0])) - Number(a.title.includes(words[0])))
      .slice(0, 12);
    const list = document.createElement("ul");
    for (const { part } of hits) {
      const link = document.createElement("a");
      link.href = new URL(part.location, root);
      link.textContent = part.title;
      const line = document.createElement("li");
      line.append(link, ` ${around(part.text, words[0])}`);
      list.append(line);
    }
    found.replaceChildren(hits.length ? list : "Nothing was found.");
    found.hidden = words.length === 0;
  };
  sought.addEventListener("input", show);
  sought.form.addEventListener("submit", (event) => event.preventDefault());
})();
