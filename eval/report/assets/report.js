// Draws the charts of report.html from the embedded report.json. Every figure is also in a table.
(function () {
  "use strict";
  const report = JSON.parse(document.getElementById("report").textContent);
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  let charts = [];

  function color(name) {
    return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  }
  function task(key) {
    return report.tasks.find((t) => t.key === key);
  }
  function axis(title, extra) {
    return Object.assign({
      title: { display: true, text: title, color: color("soft") },
      ticks: { color: color("soft") },
      grid: { color: color("line") },
    }, extra);
  }
  function base(scales, legend) {
    return {
      responsive: true,
      maintainAspectRatio: false,
      animation: false,
      scales: scales,
      plugins: { legend: { display: legend, labels: { color: color("ink"), boxWidth: 14 } } },
    };
  }
  function percent(rate) {
    return Math.round(rate * 1000) / 10;
  }
  function power(value) {
    if (value === 0) return "0";
    const digits = value >= 0.01 && value < 1000 ? String(+value.toPrecision(2)) : value.toExponential(0);
    return digits;
  }

  function klHistogram(t) {
    // Bins without tokens at both ends are left out.
    let bins = t.distribution.histogram;
    const used = bins.map((b, i) => (b.tokens > 0 ? i : -1)).filter((i) => i >= 0);
    bins = bins.slice(used[0], used[used.length - 1] + 1);
    return {
      type: "bar",
      data: {
        labels: bins.map((b) => (b.low === 0 ? "below " + power(b.high) : power(b.low))),
        datasets: [{
          label: "tokens",
          data: bins.map((b) => b.tokens),
          backgroundColor: color("candidate"),
          categoryPercentage: 1,
          barPercentage: 0.94,
        }],
      },
      options: base({ x: axis("KL, nats"), y: axis("tokens", { beginAtZero: true }) }, false),
    };
  }

  function klPosition(t) {
    const buckets = t.distribution.by_position;
    const label = (b) => (b.end - b.begin === 1 ? String(b.begin + 1) : b.begin + 1 + " to " + b.end);
    return {
      type: "line",
      data: {
        labels: buckets.map(label),
        datasets: [
          {
            label: "mean KL, nats",
            data: buckets.map((b) => b.mean_kl),
            borderColor: color("candidate"),
            backgroundColor: color("candidate"),
            yAxisID: "y",
          },
          {
            label: "other top token, %",
            data: buckets.map((b) => percent(1 - b.top1_agreement)),
            borderColor: color("reference"),
            backgroundColor: color("reference"),
            borderDash: [5, 4],
            pointStyle: "rect",
            yAxisID: "share",
          },
        ],
      },
      options: base({
        x: axis("token of the scored text"),
        y: axis("KL, nats", { beginAtZero: true }),
        share: axis("other top token, %", { beginAtZero: true, position: "right", grid: { display: false } }),
      }, true),
    };
  }

  // Draws the 95 % interval of each bar.
  const whiskers = {
    id: "whiskers",
    afterDatasetsDraw(chart) {
      const ctx = chart.ctx;
      ctx.save();
      ctx.strokeStyle = color("ink");
      ctx.lineWidth = 1.2;
      chart.data.datasets.forEach((set, s) => {
        chart.getDatasetMeta(s).data.forEach((bar, i) => {
          const low = chart.scales.x.getPixelForValue(set.low[i]);
          const high = chart.scales.x.getPixelForValue(set.high[i]);
          ctx.beginPath();
          ctx.moveTo(low, bar.y);
          ctx.lineTo(high, bar.y);
          [low, high].forEach((x) => {
            ctx.moveTo(x, bar.y - 3);
            ctx.lineTo(x, bar.y + 3);
          });
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  };

  function rates(t) {
    const metrics = t.metrics.filter((m) => m.items > 0);
    const side = (key) => ({
      label: key,
      data: metrics.map((m) => percent(m[key].rate)),
      low: metrics.map((m) => 100 * m[key].interval95[0]),
      high: metrics.map((m) => 100 * m[key].interval95[1]),
      backgroundColor: color(key),
    });
    const options = base({
      x: axis("% of items", { min: 0, max: 100 }),
      y: axis("", { grid: { display: false }, ticks: { color: color("ink") } }),
    }, true);
    options.indexAxis = "y";
    return {
      type: "bar",
      data: { labels: metrics.map((m) => m.title), datasets: [side("reference"), side("candidate")] },
      options: options,
      plugins: [whiskers],
    };
  }

  const kinds = { "kl-histogram": klHistogram, "kl-position": klPosition, rates: rates };

  function draw() {
    charts.forEach((c) => c.destroy());
    charts = Array.from(document.querySelectorAll("canvas[data-chart]")).map((canvas) =>
      new Chart(canvas, kinds[canvas.dataset.chart](task(canvas.dataset.task))));
  }
  draw();
  dark.addEventListener("change", draw);
  window.addEventListener("beforeprint", () => charts.forEach((c) => c.resize()));
})();
