// A clock that tests turn, and a WebSocket whose other end they play.

export class FakeClock {
  #now = 0;
  #timers = new Map();
  #lastId = 0;

  install() {
    globalThis.setTimeout = (work, delay = 0) => {
      this.#timers.set(++this.#lastId, { work, at: this.#now + delay });
      return this.#lastId;
    };
    globalThis.clearTimeout = (id) => this.#timers.delete(id);
  }

  // Runs what is due within so many milliseconds, in order.
  async advance(duration) {
    const end = this.#now + duration;
    for (;;) {
      await settle();
      const due = [...this.#timers].filter(([, timer]) => timer.at <= end)
        .sort(([, a], [, b]) => a.at - b.at)[0];
      if (!due) break;
      const [id, timer] = due;
      this.#timers.delete(id);
      this.#now = timer.at;
      timer.work();
    }
    this.#now = end;
    await settle();
  }

  get pending() {
    return this.#timers.size;
  }
}

// Lets every promise that can go on do so.
export async function settle() {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

export class FakeSocket {
  static OPEN = 1;
  static opened = [];

  readyState = 0;
  sent = [];

  constructor(url, protocols) {
    this.url = url;
    this.protocols = protocols;
    FakeSocket.opened.push(this);
  }

  static get last() {
    return FakeSocket.opened.at(-1);
  }

  // ---- the page's side
  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close(code) {
    this.closedWith = code;
    this.readyState = 3;
  }

  // ---- the server's side
  accept() {
    this.readyState = 1;
    this.onopen();
  }

  say(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }

  answer(packet, payload = {}) {
    this.say({ reply_to: this.sent.at(-1).seq, packet, payload });
  }

  refuse(kind, message) {
    this.say({ reply_to: this.sent.at(-1).seq, error: { kind, code: 4, message } });
  }

  end(code = 1006, reason = '') {
    this.readyState = 3;
    this.onclose({ code, reason });
  }
}
