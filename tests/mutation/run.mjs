/**
 * `npm run test:mutation`: breaks the pure rooms (core, policies, planning) in one small place at a time, with Stryker,
 * and asks whether a test fails for it. Ends with 1 where fewer mutants are killed than the floor asks for.
 *
 *   npm run test:mutation                                  some 600 lines, drawn by a new seed
 *   npm run test:mutation -- --seed 7 --lines 1000         as many lines as that, the same ones again
 *   npm run test:mutation -- --seed 7 --files 3            whole files
 *   npm run test:mutation -- src/core/action src/core/money.ts:60-80   of these, whole, or the lines named
 *   npm run test:mutation -- --changed origin/main         what differs from there
 *   npm run test:mutation -- --all                         everything: hours
 *
 * What is drawn are whole declarations (a function, a class, a constant), so that each line is as likely as any other;
 * the seed is printed. Further: --floor 85, --concurrency N, --tests PATH (tests whose files begin so, while you write
 * them).
 *
 * Left out: what runs once while a module loads (a table, a schema), since each of those mutants would load everything
 * anew; and sentences for people (plugins.mjs). Both are counted. A mutant that never ends counts as killed.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Stryker } from '@stryker-mutator/core';
import ts from 'typescript';

const ROOMS = ['src/core', 'src/policies', 'src/planning'];
/** Numbers that a command has learned: tests compare them with what it makes. */
const TABLES = new Set(['src/planning/commitment/use-forecast-weights.ts', 'src/planning/anomaly/dirty-prices.ts']);

const root = path.resolve(import.meta.dirname, '../..');
process.chdir(root);

const { values: asked, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seed: { type: 'string' },
    lines: { type: 'string' },
    files: { type: 'string' },
    all: { type: 'boolean', default: false },
    changed: { type: 'string' },
    floor: { type: 'string', default: '85' },
    concurrency: { type: 'string' },
    tests: { type: 'string', multiple: true },
  },
});

/** A whole number of an option; ends the run where it is none. */
function wholeNumber(name) {
  const number = Number(asked[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  console.error(`--${name} is not a whole number: ${asked[name]}`);
  process.exit(2);
}

/** `src/core/money.ts:60-80` */
const LINES = /^(.+):(\d+)-(\d+)$/;

/** @returns {string[]} files of the rooms that the paths name, in order */
function filesUnder(paths) {
  return paths
    .filter((one) => !LINES.test(one))
    .flatMap((one) => {
      const inside = path.relative(root, path.resolve(one));
      if (!existsSync(inside) || !ROOMS.some((room) => `${inside}/`.startsWith(`${room}/`))) {
        console.error(`${one} is no file or folder of ${ROOMS.join(', ')}`);
        process.exit(2);
      }
      if (!statSync(inside).isDirectory()) return [inside];
      const names = readdirSync(inside, { recursive: true });
      return names.filter((name) => name.endsWith('.ts')).map((name) => path.join(inside, name));
    })
    .filter((file) => !TABLES.has(file))
    .sort();
}

/** `{ file, from, to }` of the paths that name lines. */
function linesNamed(paths) {
  return paths.flatMap((one) => {
    const named = LINES.exec(one);
    if (named === null) return [];
    const [file] = filesUnder([named[1]]);
    return file === undefined ? [] : [{ file, from: Number(named[2]), to: Number(named[3]) }];
  });
}

/** The declarations of a file that hold code: `{ file, from, to }`, lines counted from 1. */
function declarationsOf(file) {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const lineAt = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  return source.statements
    .filter(
      (one) =>
        !ts.isInterfaceDeclaration(one) &&
        !ts.isTypeAliasDeclaration(one) &&
        !ts.isImportDeclaration(one) &&
        !ts.isExportDeclaration(one),
    )
    .map((one) => ({ file, from: lineAt(one.getStart(source)), to: lineAt(one.end) }));
}

/** Those of the declarations that lines changed since a commit lie in. */
function changedSince(commit, files) {
  const diff = execFileSync('git', ['diff', '--unified=0', '--merge-base', commit, '--', ...ROOMS], {
    encoding: 'utf8',
    maxBuffer: 1e9,
  });
  const touched = [];
  let file = '';
  for (const line of diff.split('\n')) {
    if (line.startsWith('+++ ')) file = line.slice('+++ b/'.length);
    const hunk = /^@@ [^+]*\+(\d+)(?:,(\d+))? @@/.exec(line);
    if (hunk !== null) touched.push({ file, from: Number(hunk[1]), to: Number(hunk[1]) + Number(hunk[2] ?? 1) });
  }
  return files
    .flatMap(declarationsOf)
    .filter((one) => touched.some((two) => two.file === one.file && two.from <= one.to && two.to >= one.from));
}

/** The same order for the same seed: a Fisher-Yates shuffle over mulberry32. */
function shuffled(list, seed) {
  let state = seed >>> 0;
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const order = [...list];
  for (let at = order.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1));
    [order[at], order[other]] = [order[other], order[at]];
  }
  return order;
}

/** What is broken, and how it was chosen in words. */
function chosen() {
  const files = filesUnder(positionals.length > 0 ? positionals : ROOMS);
  if (asked.changed !== undefined)
    return { what: `changed since ${asked.changed}`, sample: changedSince(asked.changed, files) };
  const isDrawn = asked.lines !== undefined || asked.files !== undefined;
  if (asked.all || (positionals.length > 0 && !isDrawn))
    return { what: 'whole', sample: [...files.flatMap(declarationsOf), ...linesNamed(positionals)] };
  const seed = asked.seed === undefined ? Math.floor(Math.random() * 1e6) : wholeNumber('seed');
  if (asked.files !== undefined) {
    const drawn = shuffled(files, seed).slice(0, wholeNumber('files'));
    return { what: `--seed ${seed} --files ${asked.files}`, sample: drawn.flatMap(declarationsOf) };
  }
  asked.lines ??= '600';
  const most = wholeNumber('lines');
  const sample = [];
  let lines = 0;
  for (const one of shuffled(files.flatMap(declarationsOf), seed)) {
    if (lines >= most) break;
    sample.push(one);
    lines += one.to - one.from + 1;
  }
  return { what: `--seed ${seed} --lines ${most}`, sample };
}

/** `src/core/budget/x.ts` counts for `core/budget`, `src/core/x.ts` for `core`. */
const folderOf = (file) => path.dirname(path.relative('src', file));

const KINDS = ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored'];

function count(mutants) {
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  for (const { status } of mutants) counts[status] = (counts[status] ?? 0) + 1;
  const killed = counts.Killed + counts.Timeout;
  const valid = killed + counts.Survived + counts.NoCoverage;
  return { ...counts, score: valid === 0 ? null : (100 * killed) / valid };
}

function tell(name, { score, ...counts }) {
  const percent = score === null ? '-' : score.toFixed(1);
  console.log(
    [name.padEnd(28), ...KINDS.map((kind) => String(counts[kind]).padStart(10)), percent.padStart(8)].join(''),
  );
}

/** A line for each folder and one for all. */
function report(mutants) {
  console.log(['folder'.padEnd(28), ...KINDS.map((kind) => kind.padStart(10)), 'score'.padStart(8)].join(''));
  const folderOfMutant = ({ fileName }) => folderOf(path.relative(root, fileName));
  for (const folder of [...new Set(mutants.map(folderOfMutant))].sort())
    tell(folder, count(mutants.filter((one) => folderOfMutant(one) === folder)));
  const all = count(mutants);
  tell('all', all);
  return all.score;
}

const { what, sample } = chosen();
if (asked.tests !== undefined) process.env.BURSAR_MUTATION_TESTS = asked.tests.join(',');
console.log(
  `mutation: ${what}: ${sample.length} declarations of ${new Set(sample.map(({ file }) => file)).size} files`,
);
if (sample.length === 0) {
  console.log('Nothing to break.');
  process.exit(0);
}
const mutants = await new Stryker({
  mutate: sample.map(({ file, from, to }) => `${file}:${from}-${to}`),
  testRunner: 'in-process',
  plugins: [path.join(import.meta.dirname, 'plugins.mjs')],
  ignorers: ['sentences'],
  coverageAnalysis: 'perTest',
  ignoreStatic: true,
  // No pure test reads these: they would only be copied.
  ignorePatterns: ['/clients', '/deploy', '/dist', '/coverage', '/.bursar'],
  reporters: ['progress-append-only', 'survivors'],
  // On a busy machine a mutant that only takes long is not one that never ends: that is told by how often it is hit.
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 30,
  disableTypeChecks: false,
  cleanTempDir: 'always',
  tempDirName: '.stryker-tmp',
  allowEmpty: true,
  logLevel: 'warn',
  ...(asked.concurrency === undefined ? {} : { concurrency: wholeNumber('concurrency') }),
}).runMutationTest();

const score = report(mutants);
const floor = Number(asked.floor);
if (score === null) console.log('No mutant came of it.');
else console.log(`${score.toFixed(1)} % killed, the floor is ${floor} % (${what})`);
process.exitCode = score !== null && !(score >= floor) ? 1 : 0;
