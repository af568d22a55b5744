// Two people, and one who watches, in a real browser against the real server.

import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, test } from 'node:test';

import {
  ServerProcess, freePort, inTemporaryDirectory,
} from '../../support/server_process.mjs';
import { DESK, LANDSCAPE, PHONE, PlayerPage, colours, launch } from './browser.mjs';

const TEST_MS = 90_000;
let browser;

before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
});

// `work(server)` against a server of its own; pages that were opened are closed with it.
function withServer(work, options = {}) {
  return () => inTemporaryDirectory(async (directory) => {
    const server = await ServerProcess.start('tictactoe', { directory, ...options });
    try {
      await work(server, directory);
    } catch (error) {
      error.message += `\n---- the server said:\n${server.output}`;
      throw error;
    } finally {
      await Promise.all(browser.contexts().map((context) => context.close()));
      await server.kill();
    }
  });
}

// Keeps a screenshot where SPOTMESH_SCREENSHOTS says, for people.
async function keep(name, png) {
  const directory = process.env.SPOTMESH_SCREENSHOTS;
  if (!directory) return;
  await mkdir(directory, { recursive: true });
  await writeFile(path.join(directory, `${name}.png`), png);
}

async function assertRendered(player, name) {
  await player.settle();
  const png = await player.page.screenshot();
  await keep(name, png);
  const { count, largestShare } = await colours(browser, png);
  assert.ok(count > 50, `${name} has ${count} colours`);
  assert.ok(largestShare < 0.97, `one colour covers ${largestShare} of ${name}`);
}

// A phone zooms out of a page that is too wide, which then is wider than the phone.
async function assertFitsAcross(player) {
  const widths = await player.page.evaluate(
    () => [innerWidth, document.documentElement.scrollWidth]);
  const { width } = player.page.viewportSize();
  assert.deepEqual(widths, [width, width]);
}

async function assertFits(player) {
  await assertFitsAcross(player);
  const height = await player.page.evaluate(() => document.documentElement.scrollHeight);
  assert.ok(height <= player.page.viewportSize().height, `${height} px high`);
}

test('two pages play a game to its end, one of them reloaded in between',
  { timeout: TEST_MS },
  withServer(async (server) => {
    const ann = await PlayerPage.open(browser, server.url, DESK);
    await ann.logIn('Ann');
    await ann.see('#lobby');
    await ann.openRoom('Quiet Garden');
    await ann.verdict('Waiting for an opponent');
    assert.equal(await ann.page.evaluate(() => location.hash), '#room=Quiet%20Garden');

    // Somebody in the lobby sees the room appear, and whom it waits for.
    const cleo = await PlayerPage.open(browser, server.url, DESK);
    await cleo.logIn('Cleo');
    await cleo.see('.room-row:has-text("Ann waits for an opponent")');

    // The link leads right into the room.
    const bob = await PlayerPage.open(browser, `${server.url}#room=Quiet%20Garden`, PHONE);
    await bob.logIn('Bob');
    await bob.verdict("Ann's turn");
    assert.deepEqual(await bob.toasts(), []);
    await ann.verdict('Your turn');
    await cleo.page.click('.room-row:has-text("Ann against Bob") button');
    await cleo.verdict("Ann's turn");
    await ann.see('#watchers:has-text("Watching: Cleo")');

    // A move out of turn, a taken cell, a move of somebody who only watches.
    await bob.press(4);
    await bob.toast("it is Ann's turn");
    await ann.press(4);
    await bob.verdict('Your turn');
    await assertRendered(bob, 'phone');
    await assertFits(bob);
    await bob.press(4);
    await bob.toast('That cell is taken.');
    await cleo.press(0);
    await cleo.toast('spectators cannot move');
    await bob.press(0);
    await ann.verdict('Your turn');

    // Bob's page is reloaded; he is where he was.
    await bob.page.reload();
    await bob.verdict("Ann's turn");
    assert.equal(await bob.board(), 'O...X....');
    await ann.page.waitForFunction(
      () => document.getElementById('player-o').dataset.state === 'here');
    await assertRendered(ann, 'desk');

    await ann.press(2);
    await bob.verdict('Your turn');
    await bob.press(3);
    await ann.verdict('Your turn');
    await ann.press(6);
    await ann.verdict('You win!');
    await bob.verdict('Ann wins.');
    await cleo.verdict('Ann wins!');
    for (const player of [ann, bob, cleo]) {
      await player.see('#strike path');
      assert.equal(await player.board(), 'O.XOX.X..');
      assert.deepEqual(
        await player.page.$$eval('.cell.won', (cells) => cells.map((cell) => cell.dataset.cell)),
        ['2', '4', '6']);
    }
    await assertRendered(ann, 'desk-win');

    // A rematch with sides swapped.
    await ann.page.click('#rematch');
    await bob.verdict('Ann wins. Ann wants a rematch.');
    await bob.page.click('#rematch:has-text("Accept the rematch")');
    await bob.verdict('Your turn');
    await bob.waitForBoard('.........');
    await ann.verdict("Bob's turn");
    assert.equal(await ann.page.textContent('#player-o .wins'), '1');

    // Leaving in the middle asks first, and then is a defeat.
    await bob.page.click('#leave');
    await bob.page.click('#confirm-leave button[value=leave]');
    await bob.see('#lobby');
    await ann.verdict('You win: your opponent has left.');

    for (const player of [ann, bob, cleo]) assert.deepEqual(player.faults, []);
  }));

test('a game can be played with the keyboard alone', { timeout: TEST_MS },
  withServer(async (server) => {
    const ann = await PlayerPage.open(browser, server.url);
    await ann.page.keyboard.type('Ann');
    await ann.page.keyboard.press('Enter');
    await ann.see('#lobby');
    await ann.page.focus('#room-name');
    await ann.page.fill('#room-name', 'Keys');
    await ann.page.keyboard.press('Enter');
    await ann.verdict('Waiting for an opponent');
    const bob = await PlayerPage.open(browser, `${server.url}#room=Keys`);
    await bob.logIn('Bob');
    await ann.verdict('Your turn');
    // The middle has the focus; up and left of it is the corner.
    await ann.page.keyboard.press('ArrowUp');
    await ann.page.keyboard.press('ArrowLeft');
    await ann.page.keyboard.press('Enter');
    await bob.waitForBoard('X........');
    await bob.page.keyboard.press('5');
    await ann.waitForBoard('X...O....');
    assert.equal(await ann.page.getAttribute('[data-cell="4"]', 'aria-label'),
      'Row 2, column 2: O, latest move');
  }));

test('a name that another player has is refused, and another one may be chosen',
  { timeout: TEST_MS },
  withServer(async (server) => {
    const ann = await PlayerPage.open(browser, server.url);
    await ann.logIn('Ann');
    await ann.see('#lobby');
    const other = await PlayerPage.open(browser, server.url);
    await other.logIn('ann');
    await other.see('#login-error:has-text("taken by another player")');
    await other.logIn('Anna');
    await other.see('#lobby');
  }));

test('a second window of one player puts the first one to rest', { timeout: TEST_MS },
  withServer(async (server) => {
    const first = await PlayerPage.open(browser, server.url);
    await first.logIn('Ann');
    await first.openRoom('Den');
    const second = await PlayerPage.inContext(first.context, server.url);
    await second.logIn('Ann');
    await second.verdict('Waiting for an opponent');
    await first.see('#elsewhere');
    await first.page.click('#come-back');
    await first.verdict('Waiting for an opponent');
    await second.see('#elsewhere');
  }));

test('a page comes back by itself when the server has been away', { timeout: TEST_MS },
  () => inTemporaryDirectory(async (directory) => {
    const port = await freePort();
    let server = await ServerProcess.start('tictactoe', { directory, port });
    try {
      const ann = await PlayerPage.open(browser, server.url);
      await ann.logIn('Ann');
      await ann.openRoom('Den');
      await server.stop();
      await ann.connection('waiting');
      server = await ServerProcess.start('tictactoe', { directory, port });
      await ann.connection('open');
      // The game has ended with the server that it was on.
      await ann.toast('You are no longer in Den.');
      await ann.see('#lobby');
      assert.equal(await ann.page.evaluate(() => location.hash), '');
      await ann.openRoom('Again');
      await ann.verdict('Waiting for an opponent');
    } finally {
      await Promise.all(browser.contexts().map((context) => context.close()));
      await server.kill();
    }
  }));

test('long names and names that look like markup fit on a phone, whichever way it is held',
  { timeout: TEST_MS },
  withServer(async (server) => {
    const names = ['W'.repeat(24), '"><script>alert(1)</scri'];
    const room = '"><img src=x onerror=alert(1)>WW';
    const pages = [];
    for (const [at, view] of [PHONE, LANDSCAPE].entries()) {
      const player = await PlayerPage.open(browser, server.url, view);
      await player.logIn(names[at]);
      await player.see('#lobby');
      pages.push(player);
    }
    const [first, second] = pages;
    await first.openRoom(room);
    await second.see('.room-row');
    await assertFitsAcross(second);
    await second.page.click('.room-row button');
    await first.verdict('Your turn');
    await first.press(0);
    await second.verdict('Your turn');
    for (const player of pages) {
      await assertFits(player);
      assert.equal(await player.page.textContent('#room-title'), room);
      assert.deepEqual(player.faults, []);
    }
    await assertRendered(second, 'landscape');
  }));

test('whoever clicks twice means it once, and is told what is wrong once', { timeout: TEST_MS },
  withServer(async (server) => {
    const ann = await PlayerPage.open(browser, server.url);
    await ann.logIn('Ann');
    await ann.see('#lobby');
    await ann.page.fill('#room-name', 'Den');
    await ann.page.dblclick('#open-room button');
    const bob = await PlayerPage.open(browser, server.url);
    await bob.logIn('Bob');
    await bob.page.dblclick('.room-row button');
    await bob.verdict("Ann's turn");
    await ann.verdict('Your turn');
    assert.deepEqual([await ann.toasts(), await bob.toasts()], [[], []]);
    await bob.press(1);
    await bob.toast("It is Ann's turn.");
    await bob.press(2);
    // Ann's move comes after Bob's second try, so its answer is there.
    await ann.press(4);
    await bob.verdict('Your turn');
    assert.deepEqual(await bob.toasts(), ["It is Ann's turn."]);
  }));
