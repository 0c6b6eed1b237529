/**
 * What Stryker runs for each mutant: the pure tests that reach the broken place, in one process that has loaded them
 * once, so that a mutant takes milliseconds. The first failure ends a mutant's run. The nearest tests come first: those
 * of a file that imports the broken one, then of one that imports what imports it; among them the quickest. What they
 * do not notice within SECONDS of processor counts as survived.
 *
 * Modules live on from mutant to mutant, and with them what they remember. A mutant counts as killed only if the test
 * that failed passes again without it; if it does not, everything is loaded anew and the mutant is tried once more.
 * What was remembered from before can hide a mutant, and never counts for the tests.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { register } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { runs } from './fewer-runs.mjs';
import { taken } from './suite.mjs';

/** The tests that look at core, policies and planning. */
const FOLDERS = new Set(['tests/unit/core', 'tests/unit/policies', 'tests/unit/planning', 'tests/property']);
/** Single files that do so too. */
const FILES = /^tests\/(unit\/(commitment|idle|scaling-[^/]*)|backtest\/policy(|-jobs|-job-places|-series))\.test\.ts$/;
/** The first three compare words, which are not mutated; each of the others takes seconds. */
const LEFT_OUT = [
  'tests/unit/policies/reference.test.ts',
  'tests/unit/core/reworded-examples.test.ts',
  'tests/unit/core/figures.test.ts',
  'tests/property/claims.test.ts',
  'tests/property/policies.test.ts',
  'tests/backtest/policy-jobs.test.ts#no policy looks ahead',
  'tests/backtest/policy-jobs.test.ts#spot spot-shift never misses',
  'tests/backtest/policy-series.test.ts#costs day by day of a fleet',
  'tests/backtest/policy.test.ts#no policy looks ahead',
  'tests/backtest/policy.test.ts#workloads are scaled beside',
];
/** Of a base file, all tests that reach it would take a minute. */
const SECONDS = 5;

const isLeftOut = (id) => LEFT_OUT.some((start) => id.startsWith(start));

/** Of those, where run.mjs was asked for some, what begins like that. */
function testFiles() {
  const asked = process.env.BURSAR_MUTATION_TESTS?.split(',') ?? [''];
  return readdirSync('tests', { recursive: true })
    .map((name) => path.join('tests', name))
    .filter((file) => file.endsWith('.test.ts') && (FILES.test(file) || FOLDERS.has(path.dirname(file))))
    .filter((file) => !isLeftOut(file) && asked.some((start) => file.startsWith(start)));
}

const imported = new Map();
/** The files that a file imports, by its text. */
function importsOf(file) {
  if (!imported.has(file)) {
    const names = [...readFileSync(file, 'utf8').matchAll(/ from '(\.[^']+)\.js'/g)];
    const files = names.map(([, name]) => path.join(path.dirname(file), `${name}.ts`));
    imported.set(file, files.filter(existsSync));
  }
  return imported.get(file);
}

/** For each file that one imports, how many steps away it is: 1 what it imports itself. */
function stepsFrom(file) {
  const steps = new Map([[file, 0]]);
  for (const [one, step] of steps) for (const next of importsOf(one)) if (!steps.has(next)) steps.set(next, step + 1);
  return steps;
}

/** Stryker's own (INSTRUMENTER_CONSTANTS.NAMESPACE of its API). */
const NAMESPACE = '__stryker__';
/** Stryker's TestStatus.Success; 1 is its Failed. */
const PASSED = 0;

export class InProcessRunner {
  /** Where mutated code looks for what is active, and counts what was reached. */
  #namespace = (globalThis[NAMESPACE] ??= {});
  #loads = 0;
  /** By id. */
  #tests = new Map();
  /** By file of tests: stepsFrom. */
  #steps = new Map();
  /** By id, milliseconds. */
  #took = new Map();
  /** Files of property tests that pass with all of their runs alone. */
  #whole = new Set();

  /** Otherwise Stryker begins a new process for each mutant that is also reached while modules load. */
  capabilities() {
    return { reloadEnvironment: true };
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
      this.#steps.set(file, stepsFrom(file));
      await load(file);
      for (const { name, body } of taken())
        if (!isLeftOut(`${file}#${name}`)) this.#tests.set(`${file}#${name}`, { name, body, file });
    }
  }

  async dryRun() {
    const results = [];
    for (const file of this.#steps.keys()) {
      let ofFile = await this.#resultsOf(file);
      if (ofFile.some(({ status }) => status !== PASSED)) {
        this.#whole.add(file);
        ofFile = await this.#resultsOf(file);
      }
      results.push(...ofFile);
    }
    return { status: 'complete', tests: results, mutantCoverage: this.#namespace.mutantCoverage };
  }

  async #resultsOf(asked) {
    const results = [];
    for (const [id, { name, file }] of this.#tests) {
      if (file !== asked) continue;
      this.#namespace.currentTestId = id;
      const begun = performance.now();
      const failureMessage = await this.#failureOf(id);
      this.#namespace.currentTestId = undefined;
      const timeSpentMs = performance.now() - begun;
      this.#took.set(id, timeSpentMs);
      const status = failureMessage === null ? PASSED : 1;
      results.push({ id, name, timeSpentMs, fileName: file, status, failureMessage });
    }
    return results;
  }

  async mutantRun({ activeMutant, testFilter, hitLimit, sandboxFileName }) {
    const isAsked = new Set(testFilter ?? this.#tests.keys());
    for (let reloaded = false; ; reloaded = true) {
      const ids = this.#nearestFirst(isAsked, path.relative('', sandboxFileName));
      const found = await this.#firstFailure(ids, activeMutant.id, hitLimit);
      if (found === null) return { status: 'survived', nrOfTests: ids.length };
      if (found.isEndless) return { status: 'timeout', reason: found.message };
      if (reloaded || (await this.#failureOf(found.id)) === null)
        return { status: 'killed', killedBy: [found.id], failureMessage: found.message, nrOfTests: ids.length };
      await this.#load();
    }
  }

  #nearestFirst(asked, broken) {
    const stepsOf = (id) => this.#steps.get(this.#tests.get(id).file).get(broken) ?? Infinity;
    return [...this.#tests.keys()]
      .filter((id) => asked.has(id))
      .map((id) => ({ id, steps: stepsOf(id), took: this.#took.get(id) ?? 0 }))
      .sort((a, b) => (a.steps === b.steps ? a.took - b.took : a.steps - b.steps))
      .map(({ id }) => id);
  }

  async #firstFailure(ids, mutant, hitLimit) {
    const namespace = this.#namespace;
    Object.assign(namespace, { activeMutant: mutant, hitCount: 0, hitLimit });
    const begun = process.cpuUsage();
    try {
      for (const id of ids) {
        const { user } = process.cpuUsage(begun);
        if (user > SECONDS * 1e6) return null;
        const message = await this.#failureOf(id);
        if (message !== null) return { id, message, isEndless: namespace.hitCount > hitLimit };
      }
      return null;
    } finally {
      namespace.activeMutant = undefined;
    }
  }

  async #failureOf(id) {
    const { file, body } = this.#tests.get(id);
    runs.share = this.#whole.has(file) ? 1 : 10;
    try {
      await body();
      return null;
    } catch (error) {
      return String(error?.message ?? error) || 'failed';
    }
  }
}
