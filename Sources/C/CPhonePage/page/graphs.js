// Levels of the rate limits' buckets over the last minute, each as a small graph.

import { make, setText } from "./dom.js";

const SPAN_MS = 60_000;

export function bucketGraphs() {
  const element = make("section", { class: "buckets", "aria-label": "Rate limits" });
  const graphs = new Map();

  const take = ({ buckets }) => {
    for (const bucket of buckets ?? []) {
      const graph = graphs.get(bucket.name) ?? newGraph(bucket.name);
      if (!graphs.has(bucket.name)) {
        graphs.set(bucket.name, graph);
        element.append(graph.element);
      }
      graph.bucket = bucket;
      const now = Date.now();
      graph.points.push({ at: now, level: bucket.level });
      while (graph.points.length > 2 && graph.points[1].at < now - SPAN_MS) graph.points.shift();
      if (graph.points.length > 600) graph.points.splice(0, graph.points.length - 600);
    }
  };

  const draw = () => {
    for (const graph of graphs.values()) drawGraph(graph);
  };
  return { element, take, draw };
}

function newGraph(name) {
  const graph = { canvas: make("canvas", { "aria-hidden": "true" }), level: make("span", { class: "bucket-level" }), points: [], bucket: null };
  graph.element = make("figure", { class: "bucket" },
    make("figcaption", {}, make("span", { class: "bucket-name", dir: "auto", text: name }), graph.level), graph.canvas);
  return graph;
}

/** The current level: the last report plus the refill since. */
function levelNow(bucket, since) {
  return Math.min(bucket.capacity, bucket.level + (bucket.refill_per_second * since) / 1_000);
}

function drawGraph(graph) {
  const { canvas, bucket, points } = graph;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (!bucket || !width) return;
  const now = Date.now();
  const level = levelNow(bucket, now - points.at(-1).at);
  const share = level / bucket.capacity;
  graph.element.dataset.state = share < 0.15 ? "empty" : share < 0.5 ? "low" : "fine";
  setText(graph.level, `${Math.floor(level)}/${bucket.capacity}`);
  graph.element.title = `${bucket.name}: ${bucket.taken ?? 0} taken, ${bucket.refill_per_second} a second come back`;

  const scale = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.clearRect(0, 0, width, height);
  const x = (at) => width - ((now - at) / SPAN_MS) * width;
  const y = (level) => height - 1.5 - (level / bucket.capacity) * (height - 3);
  const colour = getComputedStyle(canvas).color;
  context.beginPath();
  context.moveTo(x(Math.max(points[0].at, now - SPAN_MS)), y(points[0].level));
  // Between two reports a bucket fills steadily up to its capacity; taken tokens show as a steep fall at the report.
  points.forEach((point, index) => {
    const before = points[index - 1];
    if (before) {
      const filled = Math.min(bucket.capacity, before.level + (bucket.refill_per_second * (point.at - before.at)) / 1_000);
      const fullAt = before.at + ((bucket.capacity - before.level) / bucket.refill_per_second) * 1_000;
      if (filled === bucket.capacity && fullAt < point.at) context.lineTo(x(fullAt), y(bucket.capacity));
      context.lineTo(x(point.at), y(Math.max(filled, point.level)));
    }
    context.lineTo(x(point.at), y(point.level));
  });
  context.lineTo(width, y(level));
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.lineJoin = "round";
  context.stroke();
  context.lineTo(width, height);
  context.lineTo(x(Math.max(points[0].at, now - SPAN_MS)), height);
  context.closePath();
  context.globalAlpha = 0.14;
  context.fillStyle = colour;
  context.fill();
  context.globalAlpha = 1;
}
