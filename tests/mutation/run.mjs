/**
 * `npm run test:mutation`: breaks the pure rooms (core, policies, planning) in one small place at a time, with Stryker,
 * and asks whether a test fails for it. Ends with 1 where fewer than 85 % of the mutants are killed; of a random sample,
 * where so few are that a room that stands at its floor (REACHED) would have it about once in 1,000 runs
 * (leastBySample).
 *
 *   npm run test:mutation                                  some 600 lines, drawn by a new seed
 *   npm run test:mutation -- --seed 7 --lines 1000         as many lines as that, the same ones again
 *   npm run test:mutation -- --seed 7 --files 3            whole files
 *   npm run test:mutation -- src/core/action src/core/money.ts:60-80   of these, whole, or the lines named
 *   npm run test:mutation -- --changed origin/main         what differs from there
 *   npm run test:mutation -- --all                         everything: hours
 *
 * What is drawn are pieces of a few lines (a statement, a condition), each line as likely as any other; the seed is
 * printed. Further: --floor 85, --concurrency N, --tests PATH (tests whose files begin so, while you write them).
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

/** The percentage of mutants that is to be killed. */
const AIM = 85;
/** What of it each room has reached, and keeps. */
const REACHED = { 'src/core': 85, 'src/policies': 85, 'src/planning': 77 };
const ROOMS = Object.keys(REACHED);
/** Numbers that a command has learned: a test compares them with what it makes. */
const LEARNED = 'src/planning/commitment/use-forecast-weights.ts';

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
    floor: { type: 'string' },
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
    .filter((file) => file !== LEARNED)
    .sort();
}

/** Of a sample: what its rooms have reached, weighted by their mutants. */
function floorOf(mutants, isDrawn) {
  if (asked.floor !== undefined) return wholeNumber('floor');
  if (!isDrawn) return AIM;
  const valid = (room) => count(mutants.filter(({ fileName }) => path.relative(root, fileName).startsWith(room))).valid;
  return ROOMS.reduce((sum, room) => sum + REACHED[room] * valid(room), 0) / count(mutants).valid;
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

const isCode = (node) =>
  !ts.isInterfaceDeclaration(node) &&
  !ts.isTypeNode(node) &&
  !ts.isTypeAliasDeclaration(node) &&
  !ts.isImportDeclaration(node) &&
  !ts.isExportDeclaration(node);

const sourceOf = (file) => ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);

/** `{ file, from, to }`, lines counted from 1. */
function placeOf(node, source) {
  const lineAt = (position) => source.getLineAndCharacterOfPosition(position).line + 1;
  return { file: source.fileName, from: lineAt(node.getStart(source)), to: lineAt(node.end) };
}

/** The declarations of a file that hold code. */
function declarationsOf(file) {
  const source = sourceOf(file);
  return source.statements.filter(isCode).map((one) => placeOf(one, source));
}

/** A piece of a file is at most as long, unless it has no parts. */
const PIECE_LINES = 6;

/** All code of a file, in pieces that share no line. */
function piecesOf(file) {
  const source = sourceOf(file);
  const pieces = [];
  const add = (node) => {
    if (!isCode(node)) return;
    const place = placeOf(node, source);
    const parts = [];
    ts.forEachChild(node, (part) => void parts.push(part));
    if (place.to - place.from >= PIECE_LINES && parts.length > 0) return parts.forEach(add);
    const last = pieces.at(-1);
    if (last === undefined || place.from > last.to) pieces.push(place);
    else last.to = Math.max(last.to, place.to);
  };
  source.statements.forEach(add);
  return pieces;
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
    return { what: `--seed ${seed} --files ${asked.files}`, isDrawn, sample: drawn.flatMap(piecesOf) };
  }
  asked.lines ??= '600';
  const most = wholeNumber('lines');
  const sample = [];
  let lines = 0;
  for (const one of shuffled(files.flatMap(piecesOf), seed)) {
    if (lines >= most) break;
    sample.push(one);
    lines += one.to - one.from + 1;
  }
  return { what: `--seed ${seed} --lines ${most}`, isDrawn: true, sample };
}

/** `src/core/budget/x.ts` counts for `core/budget`, `src/core/x.ts` for `core`. */
const folderOf = (file) => path.dirname(path.relative('src', file));

const KINDS = ['Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored'];

function count(mutants) {
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, 0]));
  for (const { status } of mutants) counts[status] = (counts[status] ?? 0) + 1;
  const killed = counts.Killed + counts.Timeout;
  const valid = killed + counts.Survived + counts.NoCoverage;
  return { ...counts, killed, valid, score: valid === 0 ? null : (100 * killed) / valid };
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
  return all;
}

/** Normal deviate that is passed once in 1,000. */
const RARE = 3.09;

/**
 * The least score of a sample that its floor allows. Mutants of a piece tend to live or die together, so the spread is
 * that between pieces (the standard error of a ratio over clusters), and never less than that of single mutants.
 */
function leastBySample(mutants, pieces, floor) {
  const counts = pieces.map(({ file, from, to }) =>
    count(
      mutants.filter(
        ({ fileName, location: { start } }) =>
          path.relative(root, fileName) === file && start.line >= from && start.line <= to,
      ),
    ),
  );
  const all = count(mutants);
  const squares = counts.reduce((sum, { killed, valid }) => sum + (killed - (valid * all.killed) / all.valid) ** 2, 0);
  const share = floor / 100;
  return floor - 100 * RARE * Math.max(Math.sqrt(squares) / all.valid, Math.sqrt((share * (1 - share)) / all.valid));
}

const { what, isDrawn = false, sample } = chosen();
if (asked.tests !== undefined) process.env.BURSAR_MUTATION_TESTS = asked.tests.join(',');
console.log(`mutation: ${what}: ${sample.length} pieces of ${new Set(sample.map(({ file }) => file)).size} files`);
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
  ignorePatterns: ['/clients', '/deploy', '/dist', '/coverage', '/.bursar', '/tests/integration', '/tests/simulation'],
  reporters: ['survivors'],
  // On a busy machine a mutant that only takes long is not one that never ends: that is told by how often it is hit.
  timeoutMS: 30_000,
  timeoutFactor: 0.2,
  dryRunTimeoutMinutes: 30,
  disableTypeChecks: false,
  cleanTempDir: 'always',
  tempDirName: '.stryker-tmp',
  allowEmpty: true,
  logLevel: 'warn',
  ...(asked.concurrency === undefined ? {} : { concurrency: wholeNumber('concurrency') }),
}).runMutationTest();

const { score } = report(mutants);
const floor = floorOf(mutants, isDrawn);
if (score === null) console.log('No mutant came of it.');
else {
  const least = isDrawn ? leastBySample(mutants, sample, floor) : floor;
  const allowed = isDrawn ? `, of which chance leaves ${least.toFixed(1)} % in this sample` : '';
  console.log(`${score.toFixed(1)} % killed, the floor is ${floor.toFixed(1)} %${allowed} (${what})`);
  process.exitCode = score < least ? 1 : 0;
}
