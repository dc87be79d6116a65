"use strict";
// Draws what stands beside each figure as JSON.
(() => {
  const draw = () => {
    for (const source of document.querySelectorAll("script[data-for]")) {
      drawFigure(document.getElementById(source.dataset.for), JSON.parse(source.textContent));
    }
  };
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
})();
