/**
 * What README.md and the tutorial show is so: every command and request of theirs is carried out against the example, as
 * it is started on an empty folder, and what comes back has the shape that is printed there. The command line runs in
 * this process, against the server's API.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { run } from '../../src/cli/program.js';
import { home } from '../support/processes.js';
import { ROOT } from '../support/source.js';

const PATIENCE_MILLISECONDS = 300_000;
const ADDRESS = 'http://127.0.0.1:8080';
const DAY_MS = 86_400_000;

interface Block {
  readonly language: string;
  readonly text: string;
  /** What the page says before it. */
  readonly before: string;
}

function blocksOf(file: string): Block[] {
  const page = readFileSync(path.join(ROOT, file), 'utf8');
  return [...page.matchAll(/^```(\w*)\n([^]*?)^```$/gm)].map(({ 1: language = '', 2: text = '', index }) => ({
    language,
    text,
    before: page.slice(Math.max(0, index - 200), index),
  }));
}

/** The words of a command as a shell would split them, without a comment at its end. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/\s+#.*$/, '').matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');

/** Fields of which only one of two values knows, as deep as they go; of a list the first entries, where both have one. */
function differences(one: unknown, other: unknown, at = ''): string[] {
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === 0 || other.length === 0 ? [] : differences(one[0], other[0], `${at}[]`);
  const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> | null =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  const [own, others] = [fieldsOf(one), fieldsOf(other)];
  if (own === null || others === null) return own === others && Array.isArray(one) === Array.isArray(other) ? [] : [at];
  return [...new Set([...Object.keys(own), ...Object.keys(others)])].flatMap((name) =>
    name in own && name in others ? differences(own[name], others[name], `${at}/${name}`) : [`${at}/${name}`],
  );
}

describe('the example', async () => {
  const place = await home();
  const folder = mkdtempSync(path.join(tmpdir(), 'bursar-documents-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  let [url, apiKey] = ['', ''];
  beforeAll(async () => {
    const serving = place.start(['serve'], { BURSAR_TICK_SECONDS: '1' });
    url = await serving.said(/Bursar is ready: (\S+)/);
    apiKey = await serving.said(/(bursar_\w{12}_[\w-]{43})/);
  }, PATIENCE_MILLISECONDS);

  /** What a command prints; files are those of the folder. */
  const bursar = async (argv: readonly string[]): Promise<string> => {
    const given = argv.map((word) => (/^[\w-]+\.(?:ya?ml|json)$/.test(word) ? path.join(folder, word) : word));
    // The recorded history is read where it is: by a process of its own, beside the server.
    if (given[0] === 'backtest') {
      const { code, out, err } = await place.run(given);
      expect({ argv, code, err: code === 0 ? '' : err }).toEqual({ argv, code: 0, err: '' });
      return out;
    }
    const out: string[] = [];
    const code = await run(given, {
      environment: {},
      clock: { now: () => Date.now() },
      remote: { url, apiKey },
      parseYaml: parse,
      stdout: { write: (text) => out.push(text) },
      stderr: { write: (text) => out.push(text) },
      serve: async () => undefined,
      connect: async () => {
        throw new Error('the database is not asked');
      },
    });
    expect({ argv, code, out: code === 0 ? '' : out.join('') }).toEqual({ argv, code: 0, out: '' });
    return out.join('');
  };
  /** The heads of the tables in a text: the lines above a rule of dashes. */
  const heads = (text: string): string[][] =>
    text
      .split('\n')
      .flatMap((line, at, all) => (/^-[- ]+$/.test(all[at + 1] ?? '') ? [line.trim().split(/ {2,}/)] : []));
  const actionOf = async (target: string): Promise<string> => {
    const { actions } = JSON.parse(await bursar(['actions', '--json'])) as {
      actions: { id: string; target: string; rollbackOf: string | null }[];
    };
    return actions.findLast((one) => one.target === target && one.rollbackOf === null)?.id ?? '';
  };

  it('does what the requests in README.md ask, and answers as it says', async () => {
    const blocks = blocksOf('README.md');
    const asked = blocks.flatMap(({ text }, at) =>
      text.startsWith('curl ') ? [{ text, shown: blocks[at + 1]?.text }] : [],
    );
    expect(asked.length).toBeGreaterThanOrEqual(2);
    for (const { text, shown } of asked) {
      expect(text).toContain(ADDRESS);
      const { stdout } = await promisify(execFile)('bash', ['-c', text.replaceAll(ADDRESS, url)], {
        env: { ...process.env, KEY: apiKey },
      });
      expect({
        text,
        found: differences(JSON.parse(stdout), JSON.parse((shown ?? '').replaceAll(', ...]', ']'))),
      }).toEqual({ text, found: [] });
    }
  });

  it('takes the commands of README.md that name no file of the reader’s', async () => {
    const first = blocksOf('README.md').find(({ text }) => text.startsWith('npx bursar '));
    const lines = (first?.text ?? '').split('\n').filter((line) => line !== '');
    expect(lines.length).toBeGreaterThan(8);
    for (const line of lines) await bursar(wordsOf(line).slice(2));
  });

  it('is what the tutorial tells, step by step', { timeout: PATIENCE_MILLISECONDS }, async () => {
    const blocks = blocksOf('docs/tutorial/ten-minutes.md');
    const whole = readFileSync(path.join(ROOT, 'docs/tutorial/ten-minutes.md'), 'utf8');
    // The days that stand there are of the week in which it was written.
    const written = Date.parse('2026-11-23T00:00:00Z');
    const moved = (text: string): string =>
      text.replaceAll(/2026-11-\d\d/g, (day) => {
        const days = Math.round((Date.parse(`${day}T00:00:00Z`) - written) / DAY_MS);
        return new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
      });
    // As its tables have them: an id with the target of its line.
    const targets = new Map(
      [...whole.matchAll(/^(act-\w{16}) .*? ((?:group|instance)\/\S+) /gm)].map(([, id = '', target = '']) => [
        id,
        target,
      ]),
    );
    let carriedOut = 0;
    for (const [at, { language, text, before }] of blocks.entries()) {
      const file = /`([\w-]+\.(?:yaml|json))`[^`]*$/.exec(before)?.[1];
      if (language === 'yaml' || language === 'json') writeFileSync(path.join(folder, file ?? ''), moved(text));
      if (language !== 'sh' || !text.includes('npx bursar')) continue;
      let printed = '';
      for (const line of text.trim().split('\n')) {
        const words = wordsOf(moved(line)).slice(2);
        for (const [n, word] of words.entries())
          if (/^act-\w{16}$/.test(word)) words[n] = await actionOf(targets.get(word) ?? `no target of ${word}`);
        printed += `${await bursar(words)}\n`;
        carriedOut += 1;
      }
      const next = blocks[at + 1];
      if (next?.language === '')
        expect({ text, heads: heads(printed) }).toEqual({ text, heads: expect.arrayContaining(heads(next.text)) });
    }
    expect(carriedOut).toBeGreaterThan(18);
  });
});
