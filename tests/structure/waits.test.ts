/**
 * What the command line waits for: every wait has a bound and says what it waits for.
 *
 * Nothing in src/cli pauses but what is named here, and each of those has its bound. A verb waits for the line through
 * `waitForLine` alone; every method of the clients that does is asked here, of a server whose line never gets done, and
 * ends at the bound with a sentence that names the stage.
 */
import ts from 'typescript';
import { expect, it } from 'vitest';
import { Api } from '../../src/cli/client/api.js';
import { Client } from '../../src/cli/client/client.js';
import type { Asked } from '../../src/cli/client/transport.js';
import { Progress } from '../../src/cli/progress.js';
import type { Budget, ReservationRequest, TeamChange } from '../../src/cli/answers.js';
import { parse, sourceFiles, walk, type SourceFile } from '../support/source.js';

/** Where something pauses or goes round until something happens, and what bounds it. */
const WAITS: Readonly<Record<string, string>> = {
  'src/cli/client/backtests.ts': 'a backtest of a server: without a change STILL_MILLISECONDS',
  'src/cli/client/line.ts': 'the line: without a change PATIENCE_MILLISECONDS, in all MOST_MILLISECONDS',
  'src/cli/client/http.ts': 'an answer: SILENCE_MILLISECONDS, and IMPORT_SILENCE_MILLISECONDS of a file',
  'src/cli/doctor/finding.ts': 'a check of doctor: its seconds, by --wait',
  'src/cli/listing.ts': '--watch: its seconds, then the list again, until a person interrupts it',
};
const PAUSES = new Set(['setTimeout', 'setInterval', 'setImmediate', 'drain', 'waitForLine']);
const TIMERS = /^(node:)?timers(\/promises)?$/;

/** Timers, loops that count nothing, and the line's own work, by file. */
function waitsIn(file: SourceFile): string[] {
  const found = new Set<string>();
  walk(file, (node) => {
    if (ts.isImportDeclaration(node) && TIMERS.test((node.moduleSpecifier as ts.StringLiteral).text))
      found.add('timers');
    if (ts.isForStatement(node) && !node.condition && !node.initializer) found.add('for (;;)');
    if ((ts.isWhileStatement(node) || ts.isDoStatement(node)) && node.expression.kind === ts.SyntaxKind.TrueKeyword)
      found.add('while (true)');
    if (!ts.isCallExpression(node)) return;
    const { expression } = node;
    const called = ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
    if (PAUSES.has(called)) found.add(called);
  });
  return [...found];
}

it('pauses nowhere but where its bound is named', () => {
  const sample = `import { setTimeout as pause } from 'node:timers/promises';
    async function f(local) { for (;;) await pause(1); while (true) await local.drain(); setTimeout(f, 1); }`;
  expect(waitsIn({ name: 'sample.ts', text: sample })).toEqual([
    'timers',
    'for (;;)',
    'while (true)',
    'drain',
    'setTimeout',
  ]);
  const found = sourceFiles('src/cli').flatMap((file) => (waitsIn(file).length === 0 ? [] : [file]));
  expect(found.map(({ name }) => name)).toEqual(Object.keys(WAITS).sort());
  for (const { name, text } of found)
    for (const bound of WAITS[name]?.match(/[A-Z_]{8,}/g) ?? [])
      expect(text).toMatch(new RegExp(`\\b${bound} = (?:[\\d_]+|HOUR_MS);`));
});

/** The methods of a file's classes that wait for the line, themselves or through another of their own. */
function waitingMethods(file: SourceFile): string[] {
  return parse(file)
    .statements.filter(ts.isClassDeclaration)
    .flatMap((one) => {
      const methods = one.members.filter(ts.isMethodDeclaration);
      const waiting = new Set<string>();
      const waits = (text: string): boolean =>
        /\bwait\(/.test(text) || [...waiting].some((name) => new RegExp(`\\bthis\\.${name}\\b`).test(text));
      for (let before = -1; before !== waiting.size; ) {
        before = waiting.size;
        for (const method of methods) if (waits(method.body?.getText() ?? '')) waiting.add(method.name.getText());
      }
      return methods
        .filter((method) => waiting.has(method.name.getText()))
        .filter(({ modifiers }) => modifiers?.every(({ kind }) => kind !== ts.SyntaxKind.PrivateKeyword) !== false)
        .map((method) => `${one.name?.text ?? ''}.${method.name.getText()}`);
    });
}

const FILES = { paths: ['package.json'], format: 'auto', source: 's', strict: false, dryRun: false, wait: true };

/** Every method that waits, as its verb asks. */
const ASKED: Readonly<Record<string, (client: Client) => Promise<unknown>>> = {
  'ActionClient.approve': (client) => client.actions.approve('act-1'),
  'ActionClient.reject': (client) => client.actions.reject('rec-1', 'no'),
  'ActionClient.rollback': (client) => client.actions.rollback('act-1', false),
  'AlertClient.acknowledge': (client) => client.alerts.acknowledge('a'),
  'AlertClient.test': (client) => client.alerts.test(),
  'BillClient.commit': (client) => client.bills.commit('august', FILES),
  'Client.removeTeam': (client) => client.removeTeam('red'),
  'Client.saveBudget': (client) => client.saveBudget({ id: 'b' } as Budget),
  'Client.saveCredits': (client) => client.saveCredits([]),
  'Client.saveFx': (client) => client.saveFx([], 'ecb'),
  'Client.savePeak': (client) => client.savePeak([]),
  'Client.saveRules': (client) => client.saveRules([]),
  'Client.saveTeam': (client) => client.saveTeam({ id: 'red' } as TeamChange),
  'ConfigurationClient.apply': (client) =>
    client.configuration.apply({}, { prune: false, replaces: 'r', override: null }),
  'ImportClient.prices': (client) => client.imports.prices(FILES),
  'ImportClient.setWithdrawn': (client) => client.imports.setWithdrawn('p', true),
  'ImportClient.undo': (client) => client.imports.undo('i'),
  'ImportClient.usage': (client) => client.imports.usage(FILES),
  'PolicyClient.apply': (client) => client.policies.apply({ name: 'p' }, null),
  'PolicyClient.pause': (client) => client.policies.pause('p', true),
  'QuoteClient.release': (client) => client.quotes.release('r'),
  'QuoteClient.reserve': (client) => client.quotes.reserve({} as ReservationRequest),
  'ReconciliationClient.setApplied': (client) => client.reconciliation.setApplied(true),
  'ReconciliationClient.settle': (client) => client.reconciliation.settle('10'),
  'ReconciliationClient.withdraw': (client) => client.reconciliation.withdraw('r'),
  'ReportClient.make': (client) => client.reports.make('red', '2026-11'),
};

/** Answers everything at once; of its line one key of a stage is left for ever. */
function endless({ path, stream }: Asked): string {
  stream?.destroy();
  if (path === '/metrics') return '# TYPE bursar_work_urgent gauge\nbursar_work_urgent{stage="budget.weigh"} 1\n';
  const test = { id: 'a', news: { kind: 'test', id: 't' } };
  const settings = { learnRates: true, threshold: {}, settling: { days: 10, providers: {} } };
  return JSON.stringify({
    id: 'act-1',
    actionId: 'act-1',
    obstacle: null,
    files: [],
    items: [test],
    nextCursor: null,
    test: 't',
    ...settings,
  });
}

it('walks every method that waits', () => {
  const sample = 'class A { private b() { this.wait(); } c() { this.b(); } d() {} }';
  expect(waitingMethods({ name: 'sample.ts', text: sample })).toEqual(['A.c']);
  const waiting = sourceFiles('src/cli/client').flatMap(waitingMethods);
  // What the others wait through, tried in tests/integration/cli-waits.test.ts.
  expect(waiting.filter((name) => name !== 'Line.wait').sort()).toEqual(Object.keys(ASKED).sort());
});

it.each(Object.entries(ASKED))('%s ends at its bound, and says what it waited for', async (_, ask) => {
  let now = 0;
  const said: string[] = [];
  const clock = { now: () => (now += 300_000) };
  const client = new Client({
    api: new Api({ name: 'there', hasLog: false, ask: async (asked) => ({ status: 200, text: endless(asked) }) }),
    clock,
    progress: new Progress({ write: () => undefined }, clock),
    note: (text) => said.push(text),
    local: null,
  });
  await ask(client);
  expect(said).toEqual([
    expect.stringMatching(/^Waited \d+ s for budget\.weigh \(1\), which continues without this command: /),
  ]);
});
