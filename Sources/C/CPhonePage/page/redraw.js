// Limits redraws to one per 33 ms, at the browser's own paints, for any number of events.

const INTERVAL_MS = 33;

export class Redraw {
  constructor(draw) {
    this.draw = draw;
    this.count = 0;
    this.last = -INTERVAL_MS;
    this.isAsked = false;
  }

  ask() {
    if (this.isAsked) return;
    this.isAsked = true;
    const wait = Math.max(0, this.last + INTERVAL_MS - performance.now());
    // A hidden page is never painted, but its title still shows unread messages.
    setTimeout(() => (document.hidden ? this.now() : requestAnimationFrame(() => this.now())), wait);
  }

  now() {
    this.isAsked = false;
    this.last = performance.now();
    this.count += 1;
    this.draw();
  }
}
