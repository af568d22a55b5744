// Chromium, and pages that play.

import { createRequire } from 'node:module';
import path from 'node:path';

const modules = process.env.SPOTMESH_NODE_MODULES;
if (!modules) throw new Error('SPOTMESH_NODE_MODULES is not set: run run.sh');
const { chromium } = createRequire(path.join(path.resolve(modules), 'package.json'))(
  'playwright-core',
);

export const DESK = { viewport: { width: 1280, height: 800 } };
export const PHONE = {
  viewport: { width: 375, height: 667 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
  colorScheme: 'dark',
};

export const LANDSCAPE = { ...PHONE, viewport: { width: 667, height: 375 } };

export async function launch() {
  return chromium.launch({
    executablePath: '/usr/bin/chromium',
    args: [
      '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync',
    ],
  });
}

// One tab of one browser profile. Faults of the page's own scripts, and requests for anything that
// the server under test does not serve, fail the test.
export class PlayerPage {
  static async open(browser, url, options = DESK) {
    const context = await browser.newContext(options);
    return PlayerPage.inContext(context, url);
  }

  static async inContext(context, url) {
    const player = new PlayerPage();
    player.context = context;
    player.page = await context.newPage();
    player.page.setDefaultTimeout(15_000);
    player.faults = [];
    player.page.on('pageerror', (error) => player.faults.push(`script: ${error.message}`));
    player.page.on('requestfailed', (request) => player.faults.push(`load: ${request.url()}`));
    player.page.on('request', (request) => {
      if (!request.url().startsWith(new URL(url).origin) && !request.url().startsWith('data:')) {
        player.faults.push(`foreign: ${request.url()}`);
      }
    });
    await player.page.goto(url);
    return player;
  }

  async logIn(name) {
    await this.page.fill('#name', name);
    await this.page.click('#login button');
  }

  async openRoom(name) {
    await this.page.fill('#room-name', name);
    await this.page.click('#open-room button');
    await this.see('#room');
  }

  // A person can press any cell; whether that is a move is for the server to say.
  async press(cell) {
    await this.page.click(`[data-cell="${cell}"]`, { force: true });
  }

  async see(selector) {
    await this.page.waitForSelector(selector, { state: 'visible' });
  }

  async verdict(text) {
    await this.page.waitForFunction(
      (wanted) => document.getElementById('verdict').textContent.startsWith(wanted), text,
    );
  }

  async toast(text) {
    await this.see(`.toast:has-text(${JSON.stringify(text)})`);
  }

  // What is said in passing right now.
  async toasts() {
    return this.page.$$eval('.toast', (toasts) => toasts.map((toast) => toast.textContent));
  }

  // Waits until nothing moves any more that ever stops.
  async settle() {
    await this.page.waitForFunction(() => document.getAnimations().every((animation) =>
      animation.playState === 'finished'
        || animation.effect.getComputedTiming().iterations === Infinity));
  }

  async connection(state) {
    await this.see(`#connection[data-state="${state}"]`);
  }

  // The board as "X.O......".
  async board() {
    const marks = await this.page.$$eval('.cell',
      (cells) => cells.map((cell) => cell.dataset.mark));
    return marks.map((mark) => (mark === 'None' ? '.' : mark)).join('');
  }

  async waitForBoard(board) {
    await this.page.waitForFunction(
      (wanted) => [...document.querySelectorAll('.cell')]
        .map((cell) => (cell.dataset.mark === 'None' ? '.' : cell.dataset.mark))
        .join('') === wanted,
      board,
    );
  }
}

// How many different colours a screenshot has, and the largest share that one of them takes: a page
// that did not render has one colour only.
export async function colours(browser, png) {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    return await page.evaluate(async (url) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height);
      const drawing = canvas.getContext('2d');
      drawing.drawImage(image, 0, 0);
      const { data } = drawing.getImageData(0, 0, image.width, image.height);
      const counts = new Map();
      for (let at = 0; at < data.length; at += 4) {
        const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
        counts.set(colour, (counts.get(colour) ?? 0) + 1);
      }
      return { count: counts.size, largestShare: Math.max(...counts.values()) * 4 / data.length };
    }, `data:image/png;base64,${png.toString('base64')}`);
  } finally {
    await context.close();
  }
}
