/**
 * What a pure test imports as `vitest` while mutants are tried (runner.mjs): it registers the tests of a file, and
 * `expect` is Vitest's own. One process then runs them again and again, a mutant at a time, without loading them anew.
 */
import assert from 'node:assert/strict';
import { JestAsymmetricMatchers, JestChaiExpect, JestExtend, chai } from '@vitest/expect';

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin);
export const expect = chai.expect;
expect.unreachable = (message) => chai.assert.fail(message ?? 'should not be reached');

const suites = [];
let tests = [];

export const describe = (name, body) => {
  suites.push(name);
  body();
  suites.pop();
};

export const it = (name, body) => {
  tests.push({ name: [...suites, name].join(' '), body });
};

/** A row's name: its place, and `$title` by the field of it. */
const each = (register) => (rows) => (name, body) => {
  rows.forEach((row, index) => {
    const values = Array.isArray(row) ? row : [row];
    const said = name.replace(/\$(\w+)/g, (_, field) => String(Object(row)[field]));
    register(`${said} (${index})`, () => body(...values));
  });
};
describe.each = each(describe);
it.each = each(it);

/** The tests that were registered since the last call. */
export function taken() {
  const registered = tests;
  tests = [];
  return registered;
}

/** For what a pure test's helpers import and it never calls: the servers of other tests. */
const notHere = () => assert.fail('a pure test needs no server');
export { notHere as afterAll, notHere as beforeAll, notHere as afterEach, notHere as beforeEach, notHere as inject };
export const vi = {};
