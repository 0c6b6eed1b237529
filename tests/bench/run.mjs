/**
 * Runs benchmarks by hand: `npm run --silent bench -- ingest|query|decide|quote|samples|storage|explore|correction|alerts|all [--json]
 * [--rows N] [--keep DIR | --data DIR]`. `query` and `explore` leave what they have loaded in an empty folder (`--keep`)
 * and ask it again without loading (`--data`).
 *
 * Prints { machine, cases }: every yardstick (PostgreSQL's COPY) is a case of the same run. Nothing here is a test and
 * nothing asserts a time. Needs `npm run build` first (npm does it).
 */
import { cpus, totalmem } from 'node:os';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const KNOWN = ['ingest', 'query', 'decide', 'quote', 'samples', 'storage', 'explore', 'correction', 'alerts'];
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: 'boolean', default: false },
    rows: { type: 'string' },
    keep: { type: 'string' },
    data: { type: 'string' },
  },
});
const wanted = positionals[0] === 'all' ? KNOWN : positionals;
const unknown = wanted.filter((name) => !KNOWN.includes(name));
if (wanted.length === 0 || unknown.length > 0) {
  process.stderr.write(
    `usage: npm run bench -- ${KNOWN.join('|')}|all [--json] [--rows N] [--keep DIR | --data DIR]\n`,
  );
  process.exit(2);
}
if ((values.keep ?? values.data) !== undefined && (wanted.length > 1 || !['query', 'explore'].includes(wanted[0]))) {
  process.stderr.write('--keep and --data name the folder of one benchmark: query or explore\n');
  process.exit(2);
}
const cases = [];
for (const name of wanted) {
  const file = path.join(import.meta.dirname, `${name}.mjs`);
  if (!existsSync(file)) {
    process.stderr.write(`${name}: there is no such benchmark yet\n`);
    continue;
  }
  const { run } = await import(file);
  const options = {
    rows: values.rows === undefined ? undefined : Number(values.rows),
    keep: values.keep === undefined ? undefined : path.resolve(values.keep),
    data: values.data === undefined ? undefined : path.resolve(values.data),
    log: (text) => process.stderr.write(`${text}\n`),
  };
  cases.push(...(await run(options)));
}
const machine = {
  node: process.version,
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
};
if (values.json) process.stdout.write(`${JSON.stringify({ machine, cases }, null, 2)}\n`);
else {
  process.stdout.write(`${machine.cores} cores, ${machine.cpu}, ${machine.memoryGiB} GiB, Node ${machine.node}\n`);
  for (const { name, ...rest } of cases)
    process.stdout.write(
      `${name.padEnd(44)} ${Object.entries(rest)
        .map(([key, value]) => `${key} ${value}`)
        .join('   ')}\n`,
    );
}
