/**
 * What Stryker runs for each mutant: the pure tests that reach the broken place, in one process that has loaded them
 * once, so that a mutant takes milliseconds. Short files first, properties last; the first failure ends a mutant's run.
 *
 * Modules live on from mutant to mutant, and with them what they remember. A mutant counts as killed only if the test
 * that failed passes again without it; if it does not, everything is loaded anew and the mutant is tried once more.
 * What was remembered from before can hide a mutant, and never counts for the tests.
 */
import { readdirSync, statSync } from 'node:fs';
import { register } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { taken } from './suite.mjs';

/** The tests that look at core, policies and planning. */
const FOLDERS = ['tests/unit/core', 'tests/unit/policies', 'tests/unit/planning', 'tests/property'];
/** It compares a page, whose words are not mutated. */
const PAGES = /reference\.test\.ts$/;
const FILES = /^(commitment|idle|scaling-.*)\.test\.ts$/;

/** In the order in which they are run; of those, where run.mjs was asked for some, what begins like that. */
function testFiles() {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true })
      .filter((name) => name.endsWith('.test.ts') && !PAGES.test(name))
      .map((name) => path.join(folder, name)),
  );
  const beside = readdirSync('tests/unit').filter((name) => FILES.test(name));
  const rank = (file) => statSync(file).size + (file.startsWith('tests/property') ? 1e9 : 0);
  const asked = process.env.BURSAR_MUTATION_TESTS?.split(',') ?? [''];
  return [...inFolders, ...beside.map((name) => path.join('tests/unit', name))]
    .filter((file) => asked.some((start) => file.startsWith(start)))
    .sort((a, b) => rank(a) - rank(b));
}

/** Stryker's own (INSTRUMENTER_CONSTANTS.NAMESPACE of its API). */
const NAMESPACE = '__stryker__';

export class InProcessRunner {
  /** Where mutated code looks for what is active, and counts what was reached. */
  #namespace = (globalThis[NAMESPACE] ??= {});
  #loads = 0;
  /** By id, in the order in which they run. */
  #tests = new Map();

  capabilities() {
    return { reloadEnvironment: false };
  }

  async init() {
    // Seeds of property tests are fixed, or a mutant would be killed on one day only.
    process.env.BURSAR_PROPERTY_SEED = '1';
    register('./hooks.mjs', import.meta.url);
    await this.#load();
  }

  async #load() {
    this.#loads += 1;
    this.#namespace.activeMutant = undefined;
    const load = (file) => import(`${pathToFileURL(path.resolve(file)).href}?${this.#loads}`);
    await load('tests/support/property-seed.ts');
    this.#tests.clear();
    for (const file of testFiles()) {
      await load(file);
      for (const { name, body } of taken()) this.#tests.set(`${file}#${name}`, { name, body, file });
    }
  }

  async dryRun() {
    const results = [];
    for (const [id, { name, file }] of this.#tests) {
      this.#namespace.currentTestId = id;
      const begun = performance.now();
      const failureMessage = await this.#failureOf(id);
      this.#namespace.currentTestId = undefined;
      const status = failureMessage === null ? 0 : 1;
      results.push({ id, name, timeSpentMs: performance.now() - begun, fileName: file, status, failureMessage });
    }
    return { status: 'complete', tests: results, mutantCoverage: this.#namespace.mutantCoverage };
  }

  async mutantRun({ activeMutant, testFilter, hitLimit }) {
    const isAsked = new Set(testFilter ?? this.#tests.keys());
    for (let reloaded = false; ; reloaded = true) {
      const ids = [...this.#tests.keys()].filter((id) => isAsked.has(id));
      const found = await this.#firstFailure(ids, activeMutant.id, hitLimit);
      if (found === null) return { status: 'survived', nrOfTests: ids.length };
      if (found.isEndless) return { status: 'timeout', reason: found.message };
      if (reloaded || (await this.#failureOf(found.id)) === null)
        return { status: 'killed', killedBy: [found.id], failureMessage: found.message, nrOfTests: ids.length };
      await this.#load();
    }
  }

  async #firstFailure(ids, mutant, hitLimit) {
    const namespace = this.#namespace;
    Object.assign(namespace, { activeMutant: mutant, hitCount: 0, hitLimit });
    try {
      for (const id of ids) {
        const message = await this.#failureOf(id);
        if (message !== null) return { id, message, isEndless: namespace.hitCount > hitLimit };
      }
      return null;
    } finally {
      namespace.activeMutant = undefined;
    }
  }

  async #failureOf(id) {
    try {
      await this.#tests.get(id).body();
      return null;
    } catch (error) {
      return String(error?.message ?? error) || 'failed';
    }
  }
}
