/**
 * `npm test`: runs Vitest, then closes with one line that counts the tests: `N passed, N failed[, N skipped]`.
 *
 * The line is made from the runner's own JSON report, never from its printed text. A test file that could not be
 * loaded, or whose hook failed, counts as a failed test; a run in which nothing ran fails.
 */
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const folder = mkdtempSync(path.join(tmpdir(), 'bursar-report-'));
const file = path.join(folder, 'report.json');
const vitest = path.join(root, 'node_modules/vitest/vitest.mjs');
// A forgotten it.only would pass a run of one test.
const args = [
  vitest,
  'run',
  '--allowOnly=false',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${file}`,
  ...process.argv.slice(2),
];
const seed = (process.env['BURSAR_PROPERTY_SEED'] ||= String(randomInt(2 ** 31)));
console.log(`property tests: BURSAR_PROPERTY_SEED=${seed}`);
const run = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });

let report = { testResults: [] };
try {
  report = JSON.parse(readFileSync(file, 'utf8'));
} catch {
  console.log('The test runner left no report.');
} finally {
  rmSync(folder, { recursive: true, force: true });
}

const tests = report.testResults.flatMap((result) => result.assertionResults);
const passed = tests.filter((test) => test.status === 'passed').length;
const skipped = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed');
let failed = tests.filter((test) => test.status === 'failed').length;

for (const result of report.testResults) {
  if (result.status !== 'failed' || result.assertionResults.some((test) => test.status === 'failed')) continue;
  failed += 1;
  console.log(`${path.relative(root, result.name)} failed outside its tests: ${result.message ?? ''}`);
}
if (failed === 0 && run.status !== 0) {
  failed = 1;
  console.log(`The test runner ended with ${run.signal ?? `code ${run.status}`} outside the tests.`);
}
if (passed + failed === 0) console.log('No test ran.');

const needs = new Map();
for (const test of skipped) {
  const need = /\[needs ([^\]]+)\]/.exec(test.fullName)?.[1];
  if (need) needs.set(need, [...(needs.get(need) ?? []), test.fullName]);
}
for (const [need, names] of [...needs].sort()) {
  console.log(
    need === 'root'
      ? `Not run as root; skipped (${names.length}):`
      : `${need} was not found; skipped for it (${names.length}):`,
  );
  for (const name of names) console.log(`  ${name}`);
}
// A passed test keeps what its first try failed with.
const unsteady = tests.filter((test) => test.status === 'passed' && test.failureMessages.length > 0);
if (unsteady.length > 0)
  console.log(`Passed at the second try only (${unsteady.length}); each is a fault to be found:`);
for (const { fullName, failureMessages } of unsteady) console.log(`  ${fullName}\n    ${failureMessages[0]}`);
if (failed > 0) console.log(`The property tests' cases were those of BURSAR_PROPERTY_SEED=${seed}.`);
console.log(`${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ''}`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
