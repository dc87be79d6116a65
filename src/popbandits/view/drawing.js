"use strict";
// Draws a figure in the colours of the page, light or dark. The report and the dashboard share it.
function drawFigure(place, figure) {
  const style = getComputedStyle(document.documentElement);
  const ink = style.getPropertyValue("--ink").trim();
  const line = style.getPropertyValue("--line").trim();
  const layout = figure.layout;
  Object.assign(layout, { paper_bgcolor: "transparent", plot_bgcolor: "transparent", font: { color: ink } });
  layout.modebar = { bgcolor: "transparent", color: line, activecolor: ink };
  if (place.clientWidth < 480 && figure.data.some((trace) => trace.showlegend !== false)) {
    // On a phone the legend has a line for each of its entries.
    layout.margin.b += 80;
    layout.height += 80;
  }
  for (const name of Object.keys(layout)) {
    if (/^[xy]axis/.test(name)) Object.assign(layout[name], { gridcolor: line, zerolinecolor: line });
  }
  for (const trace of figure.data) {
    // What is drawn in black on paper is drawn in the colour of the text.
    if (trace.line && trace.line.color === "#111111") trace.line.color = ink;
  }
  Plotly.react(place, figure.data, layout, { responsive: true, displaylogo: false });
}
