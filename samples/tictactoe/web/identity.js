// Who this page plays as. The name belongs to the tab, so that two tabs can be two players; the
// device token belongs to the browser and proves that a name is one's own after a reload.

const NAME = 'tictactoe.name';
const TOKEN = 'tictactoe.device-token';

// Storage can be forbidden; then the page plays on and only a reload starts afresh.
function read(storage, key) {
  try {
    return globalThis[storage].getItem(key);
  } catch {
    return null;
  }
}

function write(storage, key, value) {
  try {
    globalThis[storage].setItem(key, value);
  } catch {
    // Nothing depends on it.
  }
}

function newToken() {
  const bytes = crypto.getRandomValues(new Uint8Array(24));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export class Identity {
  #token = read('localStorage', TOKEN);
  #name = read('sessionStorage', NAME);

  constructor() {
    if (!this.#token) {
      this.#token = newToken();
      write('localStorage', TOKEN, this.#token);
    }
  }

  get deviceToken() {
    return this.#token;
  }

  // Null until somebody has said it in this tab.
  get name() {
    return this.#name;
  }

  set name(name) {
    this.#name = name;
    write('sessionStorage', NAME, name);
    write('localStorage', NAME, name);
  }

  // What was said last in any tab of this browser.
  get suggestedName() {
    return this.#name ?? read('localStorage', NAME) ?? '';
  }
}
