/**
 * The version before and this one, side by side on one database, as while an installation is brought up to date: the
 * new one migrates while the old one works, both take usage of one source and price it, each is killed once, and the
 * old one goes on alone when the new one is taken away. Every account is that of a recount, whoever is asked.
 *
 * `version-before` names the commit; a release moves it on. It is built here from the repository's own history.
 */
import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { emptyDatabase } from '../support/database.js';
import { home, type BursarProcess } from '../support/processes.js';
import { HOUR, MONDAY } from '../support/records.js';
import { ROOT } from '../support/source.js';

const BEFORE = readFileSync(new URL('version-before', import.meta.url), 'utf8').trim();
const isInHistory = existsSync(path.join(ROOT, '.git')) && hasCommit();

function hasCommit(): boolean {
  try {
    execFileSync('git', ['cat-file', '-e', `${BEFORE}^{commit}`], { cwd: ROOT, stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const TEAMS = ['vision', 'speech', 'search'];
const PRICES = `provider,sku,region,term,upfront,component,gpuModel,gpus,price,currency,per,effectiveFrom,effectiveTo,incrementSeconds,minimumSeconds
AWS,p5.48xlarge,us-east-1,on-demand,none,gpu,H100,8,55.04,USD,instance-hour,2025-06-23T13:18:30Z,,1,60
`;
const PER_BATCH = 60;
/** A machine of eight GPUs at 55.04 an hour, in millionths. */
const HOUR_MICROS = 55_040_000n;

const batchOf = (n: number) => ({
  records: Array.from({ length: PER_BATCH }, (_, i) => {
    const start = MONDAY + ((n * 7 + i) % 72) * HOUR;
    return {
      id: `r-${n}-${i}`,
      provider: 'AWS',
      sku: 'p5.48xlarge',
      region: 'us-east-1',
      term: 'on-demand',
      resource: `i-${n}-${i}`,
      gpus: 8,
      tags: { team: TEAMS[(n + i) % 3] },
      start: new Date(start).toISOString(),
      end: new Date(start + HOUR).toISOString(),
    };
  }),
});

const title = 'the version before beside this one';

if (!isInHistory) it.skip(`${title} [needs the history of the repository]`, () => undefined);
else
  describe(title, async () => {
    const { url } = await emptyDatabase();
    const place = await home();
    const folder = mkdtempSync(path.join(tmpdir(), 'bursar-before-'));
    afterAll(() => rmSync(folder, { recursive: true, force: true }));
    beforeAll(async () => {
      const archive = path.join(folder, 'before.tar');
      execFileSync(
        'git',
        [
          'archive',
          '-o',
          archive,
          BEFORE,
          'src',
          'migrations',
          'tsconfig.json',
          'tsconfig.build.json',
          'package.json',
          'examples',
        ],
        { cwd: ROOT },
      );
      mkdirSync(path.join(folder, 'before'));
      execFileSync('tar', ['-xf', archive, '-C', path.join(folder, 'before')]);
      symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'before/node_modules'));
      // Its types were looked at when it was the newest.
      await promisify(execFile)(
        path.join(ROOT, 'node_modules/typescript-7/bin/tsc'),
        ['-p', 'tsconfig.build.json', '--noCheck'],
        { cwd: path.join(folder, 'before') },
      );
    });

    const environment = {
      DATABASE_URL: url,
      BURSAR_STALL_SECONDS: '3',
      BURSAR_TICK_SECONDS: '0.5',
      BURSAR_EXAMPLE: 'off',
    };
    const old = (...argv: string[]): BursarProcess =>
      place.startFile(path.join(folder, 'before/dist/src/main.js'), argv, environment);
    const now = (...argv: string[]): BursarProcess => place.start(argv, environment);
    const addressOf = (server: BursarProcess): Promise<string> => server.said(/(http:\/\/127\.0\.0\.1:\d+)/);

    let key = '';
    const ask = async (base: string, method: string, route: string, body?: string): Promise<unknown> => {
      const reply = await fetch(`${base}${route}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body?.startsWith('{') ? { 'content-type': 'application/json' } : {}),
        },
        ...(body === undefined ? {} : { body }),
      });
      const text = await reply.text();
      expect(reply.status, `${method} ${route}: ${text}`).toBeLessThan(300);
      return JSON.parse(text);
    };
    const sent = new Set<number>();
    const send = async (base: string, n: number): Promise<void> => {
      await ask(base, 'POST', '/v1/usage', JSON.stringify(batchOf(n)));
      sent.add(n);
    };
    const wanted = (): Record<string, string> => {
      const teams = [...sent].flatMap((n) => batchOf(n).records.map(({ tags }) => tags.team ?? ''));
      return Object.fromEntries(
        TEAMS.map((team) => {
          const micros = BigInt(teams.filter((one) => one === team).length) * HOUR_MICROS;
          return [team, `${micros / 1_000_000n}.${(micros % 1_000_000n).toString().padStart(6, '0')}000`];
        }),
      );
    };
    const isCounted = async (base: string): Promise<void> =>
      vi.waitFor(
        async () => {
          const { rows } = (await ask(base, 'GET', '/v1/costs?from=2026-10-05&to=2026-10-12&group-by=team')) as {
            rows: { team: string; cost: string }[];
          };
          expect(Object.fromEntries(rows.map(({ team, cost }) => [team, cost]))).toEqual(wanted());
        },
        { timeout: 90_000, interval: 200 },
      );

    it('count every record once, through the change and back', { timeout: 300_000 }, async () => {
      expect((await old('migrate').ended).code).toBe(0);
      const made = JSON.parse((await old('keys', 'create', 'root', '--role', 'admin', '--json').ended).out) as {
        key: { text: string };
      };
      key = made.key.text;
      const first = old('serve');
      const one = await addressOf(first);
      for (const team of TEAMS) await ask(one, 'PUT', `/v1/teams/${team}`, '{}');
      const rules = TEAMS.map((team) => ({ match: { tag: { key: 'team', value: team } }, team }));
      await ask(one, 'PUT', '/v1/rules', JSON.stringify({ rules }));
      await ask(one, 'POST', '/v1/prices?filename=p.csv', PRICES);
      for (let n = 0; n < 4; n++) await send(one, n);

      // It works while the schema changes under it.
      const migrating = now('migrate').ended;
      for (let n = 4; n < 10; n++) await send(one, n);
      expect(await migrating).toMatchObject({ code: 0 });
      await isCounted(one);

      let second = now('serve');
      let other = await addressOf(second);
      await Promise.all([10, 11, 12, 13, 14, 15].map((n) => send(n % 2 === 0 ? one : other, n)));
      await isCounted(other);
      await isCounted(one);

      // Each dies with work at hand, and the other finishes it.
      await Promise.all([16, 17, 18, 19].map((n) => send(n % 2 === 0 ? one : other, n)));
      await second.end('SIGKILL');
      await isCounted(one);
      second = now('serve');
      other = await addressOf(second);
      await Promise.all([20, 21, 22, 23].map((n) => send(n % 2 === 0 ? one : other, n)));
      await first.end('SIGKILL');
      await isCounted(other);

      // The new one is taken away again: the old one goes on with the schema of the new.
      expect((await second.end('SIGTERM')).code).toBe(0);
      const again = old('serve');
      const back = await addressOf(again);
      for (let n = 24; n < 28; n++) await send(back, n);
      await send(back, 3);
      await isCounted(back);
      expect(await ask(back, 'GET', '/v1/work')).toMatchObject({ items: [] });
      expect(await ask(back, 'GET', '/v1/audit/verification')).toMatchObject({ holds: true });
      expect((await again.end('SIGTERM')).code).toBe(0);
      expect(sent.size).toBe(28);
    });
  });
