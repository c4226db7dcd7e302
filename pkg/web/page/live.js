// What keeps the page up to date: the daemon's stream of events says when to look,
// and where there is none, the clock does.

import { Refused, ask, follow } from "./api.js";

const gap = 100; // the least between two looks, in milliseconds
const often = 2000; // between looks without a stream
const seldom = 5000; // with one: for latencies, which are no events
const retry = { first: 500, most: 10000 };

// Live looks, and tells the page what it saw and how it stands with the daemon:
// state is "live", "polling", "lost", or "token" when one is needed.
export class Live {
  constructor({ saw, stands }) {
    this.saw = saw;
    this.stands = stands;
    this.streaming = false;
    this.looking = false;
    this.again = false;
    this.failures = 0;
    this.started = -Infinity;
    document.addEventListener("visibilitychange", () => document.hidden || this.soon());
  }

  start() {
    this.stopped = this.knows = false;
    this.soon();
  }

  // soon looks as soon as it may: many calls at once make one look, and one that
  // comes while it looks makes another.
  soon() {
    if (this.looking) {
      this.again = true;
      return;
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.look(), Math.max(0, this.started + gap - performance.now()));
  }

  async look() {
    if (this.stopped) return;
    this.looking = true;
    this.again = false;
    this.started = performance.now();
    try {
      const asked = ask("status");
      if (!this.knows) await asked; // one wrong token is told once
      const [status, history] = await Promise.all([asked, past()]);
      this.failures = 0;
      this.saw(status, history);
      this.stands(this.streaming ? "live" : "polling");
      if (!this.knows) this.stream();
      this.knows = true;
    } catch (error) {
      this.failed(error);
    }
    this.looking = false;
    if (this.stopped) return;
    if (this.again) this.soon();
    else this.timer = setTimeout(() => document.hidden || this.soon(), this.pause());
  }

  failed(error) {
    this.failures++;
    if (error instanceof Refused && error.status === 401) {
      this.stopped = true;
      this.abort?.abort();
      this.stands("token", error);
      return;
    }
    this.stands("lost", error);
  }

  pause() {
    if (this.failures > 0) return Math.min(retry.first * 2 ** this.failures, retry.most);
    return this.streaming ? seldom : often;
  }

  async stream() {
    while (!this.stopped) {
      this.abort = new AbortController();
      try {
        await follow(() => this.opened(true), () => this.soon(), this.abort.signal);
      } catch (error) {
        if (error instanceof Refused && [404, 405, 501].includes(error.status)) return; // a daemon without a stream
      }
      this.opened(false);
      await new Promise((done) => setTimeout(done, often));
    }
  }

  // opened looks at once: what happened before the stream is not told on it.
  opened(streaming) {
    this.streaming = streaming;
    this.soon();
  }
}

// past is the journal's end, newest first; null where the daemon does not tell it.
async function past() {
  try {
    const answer = await ask("history?last=200");
    return answer.events.reverse();
  } catch (error) {
    if (error instanceof Refused && error.status !== 401) return null;
    throw error;
  }
}
