// A client for Spotmesh's STREAM protocol, subprotocol spotmesh.v1.json, on the browser's
// WebSocket. It knows nothing of any game:
//
//   const client = new SpotmeshClient('ws://localhost:8080/stream', {
//     onOpen: () => client.request('tictactoe.Login', { name: 'Ann', device_token: token }),
//     onPush: (packet, payload) => console.log(packet, payload),
//     onStatus: (status) => console.log(status.state),
//   });
//   client.connect();
//   const { payload } = await client.request('tictactoe.PlaceMark', { cell: 4 });
//
// A lost connection is opened anew, after a pause that grows and is partly random, so that a
// thousand pages do not come back at the same instant. Requests under way fail when it is lost:
// the client cannot know whether they were carried out, so it never sends one twice.

export const SUBPROTOCOL = 'spotmesh.v1.json';

// What the server answered instead of a reply, or why no answer came. `kind` is one of the
// server's kinds ("InvalidOperation"), or "ConnectionLost" or "NoAnswer" from here.
export class SpotmeshError extends Error {
  constructor(kind, message, code = null) {
    super(message);
    this.name = 'SpotmeshError';
    this.kind = kind;
    this.code = code;
  }
}

const CLOSE_GOING_AWAY = 1001;
const CLOSE_REPLACED = 4003;
// Our own closes, which no server sees as faults.
const CLOSE_DONE = 1000;
const LARGEST_SEQ = 2 ** 32 - 1;

const DEFAULTS = {
  // Runs on every new connection, before anything else is sent: logging in belongs here. When it
  // fails with a kind named in `finalKinds`, the client stops; otherwise it tries again later.
  onOpen: async () => {},
  onPush: () => {},
  // {state: 'connecting' | 'open' | 'waiting' | 'stopped', ...}; waiting has retryInMs, stopped
  // has code, reason and, if onOpen failed, error.
  onStatus: () => {},
  // Sent after so much silence; a server that does not answer it in time is taken for gone.
  probe: null,
  finalKinds: ['Rejected', 'InvalidOperation', 'ProtocolError'],
  requestTimeoutMs: 10_000,
  connectTimeoutMs: 10_000,
  probeAfterMs: 15_000,
  probeTimeoutMs: 5_000,
  firstPauseMs: 300,
  longestPauseMs: 10_000,
  random: Math.random,
  WebSocket: globalThis.WebSocket,
};

export class SpotmeshClient {
  #url;
  #options;
  #socket = null;
  #status = { state: 'stopped' };
  #requests = new Map(); // seq -> {packet, resolve, reject, timer}
  #lastSeq = 0;
  #failures = 0;
  #retryTimer = null;
  #probeTimer = null;

  constructor(url, options = {}) {
    this.#url = url;
    this.#options = { ...DEFAULTS, ...options };
    // A page that wakes up, or a network that is back, is a good moment to look at once.
    globalThis.addEventListener?.('online', () => this.#lookNow());
    globalThis.document?.addEventListener('visibilitychange', () => {
      if (globalThis.document.visibilityState === 'visible') this.#lookNow();
    });
  }

  get status() {
    return this.#status;
  }

  // Opens the connection, unless it is open or being opened.
  connect() {
    if (this.#socket) return;
    clearTimeout(this.#retryTimer);
    this.#retryTimer = null;
    this.#report({ state: 'connecting', attempt: this.#failures + 1 });
    this.#open();
  }

  // Ends the connection and stays away.
  stop(reason = 'stopped') {
    clearTimeout(this.#retryTimer);
    this.#retryTimer = null;
    this.#abandon(reason);
    this.#report({ state: 'stopped', code: CLOSE_DONE, reason });
  }

  // Sends a request; resolves to {packet, payload} of the reply, rejects with a SpotmeshError.
  request(packet, payload = {}, { timeoutMs = this.#options.requestTimeoutMs } = {}) {
    return new Promise((resolve, reject) => {
      if (this.#socket?.readyState !== this.#options.WebSocket.OPEN) {
        reject(new SpotmeshError('ConnectionLost', 'There is no connection to the server.'));
        return;
      }
      const seq = this.#nextSeq();
      const timer = setTimeout(() => {
        this.#requests.delete(seq);
        reject(new SpotmeshError('NoAnswer', `The server did not answer ${packet} in time.`));
      }, timeoutMs);
      this.#requests.set(seq, { packet, resolve, reject, timer });
      this.#socket.send(JSON.stringify({ packet, seq, payload }));
    });
  }

  // Sends a one-way packet. Whether there was a connection to send it on.
  send(packet, payload = {}) {
    if (this.#socket?.readyState !== this.#options.WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify({ packet, payload }));
    return true;
  }

  #nextSeq() {
    do {
      this.#lastSeq = (this.#lastSeq % LARGEST_SEQ) + 1;
    } while (this.#requests.has(this.#lastSeq));
    return this.#lastSeq;
  }

  #open() {
    const socket = new this.#options.WebSocket(this.#url, [SUBPROTOCOL]);
    this.#socket = socket;
    const patience = setTimeout(() => {
      this.#lose(socket, 'the server did not answer');
    }, this.#options.connectTimeoutMs);
    // Each handler minds its own connection only: a late event of an old one changes nothing.
    socket.onopen = () => {
      clearTimeout(patience);
      if (socket === this.#socket) this.#greet(socket);
    };
    socket.onmessage = (event) => {
      if (socket === this.#socket) this.#receive(event.data);
    };
    socket.onclose = (event) => {
      clearTimeout(patience);
      if (socket === this.#socket) this.#closed(event.code, event.reason);
    };
  }

  async #greet(socket) {
    try {
      await this.#options.onOpen();
    } catch (error) {
      if (socket !== this.#socket) return;
      this.#abandon(error.message);
      if (this.#options.finalKinds.includes(error.kind)) {
        this.#report({ state: 'stopped', code: CLOSE_DONE, reason: error.message, error });
      } else {
        this.#waitThenRetry(error.message);
      }
      return;
    }
    if (socket !== this.#socket) return;
    this.#failures = 0;
    this.#report({ state: 'open' });
    this.#armProbe();
  }

  #receive(text) {
    this.#armProbe();
    const message = JSON.parse(text);
    if (message.reply_to === undefined) {
      this.#options.onPush(message.packet, message.payload);
      return;
    }
    const request = this.#requests.get(message.reply_to);
    if (!request) return; // an answer that came after its time
    this.#requests.delete(message.reply_to);
    clearTimeout(request.timer);
    if (message.error) {
      const { kind, message: text, code } = message.error;
      request.reject(new SpotmeshError(kind, text, code));
    } else {
      request.resolve({ packet: message.packet, payload: message.payload });
    }
  }

  #closed(code, reason) {
    this.#socket = null;
    this.#failRequests(reason || 'The connection was lost.');
    // Another page took over, which ours must not take back by itself.
    if (code === CLOSE_REPLACED) {
      this.#report({ state: 'stopped', code, reason });
    } else {
      this.#waitThenRetry(code === CLOSE_GOING_AWAY ? 'the server is restarting' : reason);
    }
  }

  // The connection is taken for dead without waiting for its close.
  #lose(socket, reason) {
    if (socket !== this.#socket) return;
    this.#abandon(reason);
    this.#waitThenRetry(reason);
  }

  #abandon(reason) {
    const socket = this.#socket;
    this.#socket = null;
    clearTimeout(this.#probeTimer);
    this.#failRequests(reason);
    socket?.close(CLOSE_DONE);
  }

  #failRequests(reason) {
    const lost = [...this.#requests.values()];
    this.#requests.clear();
    for (const { reject, timer } of lost) {
      clearTimeout(timer);
      reject(new SpotmeshError('ConnectionLost', reason));
    }
  }

  #waitThenRetry(reason) {
    clearTimeout(this.#probeTimer);
    const { firstPauseMs, longestPauseMs, random } = this.#options;
    const longest = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.min(this.#failures, 20));
    const retryInMs = Math.round(longest * (0.5 + random() / 2));
    this.#failures += 1;
    this.#retryTimer = setTimeout(() => this.connect(), retryInMs);
    this.#report({ state: 'waiting', retryInMs, reason, attempt: this.#failures });
  }

  #armProbe() {
    clearTimeout(this.#probeTimer);
    if (!this.#options.probe || this.#status.state !== 'open') return;
    this.#probeTimer = setTimeout(() => this.#probe(), this.#options.probeAfterMs);
  }

  async #probe() {
    const socket = this.#socket;
    try {
      await this.#options.probe({ timeoutMs: this.#options.probeTimeoutMs });
    } catch (error) {
      if (error.kind === 'NoAnswer') this.#lose(socket, 'the server has fallen silent');
    }
  }

  #lookNow() {
    if (this.#retryTimer) {
      this.connect();
    } else if (this.#status.state === 'open' && this.#options.probe) {
      clearTimeout(this.#probeTimer);
      this.#probe();
    }
  }

  #report(status) {
    this.#status = status;
    this.#options.onStatus(status);
  }
}
