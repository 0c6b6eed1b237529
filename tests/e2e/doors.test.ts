/** What a new user may stumble over at the door: a port that is taken, and the command by its own name. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { home, isGone } from '../support/processes.js';

const ROOT = path.join(import.meta.dirname, '../..');

/** A loader that says what it loads. */
const TELLING = `import { writeSync } from 'node:fs';
export async function load(url, context, next) {
  writeSync(2, 'loaded ' + url + '\\n');
  return next(url, context);
}`;

describe('serve on a port that is taken', { timeout: 180_000 }, async () => {
  const place = await home();

  it('says so, what to do, and leaves nothing running', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as AddressInfo;
    try {
      // It ends by itself: nobody stops it.
      const { code, err } = await place.run(['serve'], { PORT: String(port), BURSAR_EXAMPLE: 'off' });
      expect(code).toBe(1);
      expect(err).toContain(`port ${port} of 127.0.0.1 is in use: set PORT to another one`);
      expect(err).not.toContain('this is a bug');
      expect(await place.postmaster().then(isGone, () => true)).toBe(true);
    } finally {
      other.close();
    }
  });
});

describe('serve with a wrong configuration', { timeout: 60_000 }, async () => {
  const place = await home();

  it('is wrong use: it names the variables, never their values', async () => {
    const { code, err } = await place.run(['serve'], {
      PORT: 'secret-port',
      DATABASE_URL: 'mysql://me:secret@host/db',
    });
    expect(code).toBe(2);
    expect(err).toMatch(/PORT is not a number/);
    expect(err).toMatch(/DATABASE_URL is not a postgres:\/\/ URL/);
    expect(err).not.toContain('secret');
  });
});

describe('the command by its own name', () => {
  it('is the file that package.json names, and runs by itself', async () => {
    const { bin, version, scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
      bin: { bursar: string };
      version: string;
      scripts: { prepare: string };
    };
    const { stdout } = await promisify(execFile)(path.join(ROOT, bin.bursar), ['--version']);
    expect(stdout.trim()).toBe(version);
    // Without it, `npx bursar` after `npm ci` would find nothing built.
    expect(scripts.prepare).toContain('tsc');
  });
});

describe('what is loaded', () => {
  it.each([[['--version']], [['help', 'import']], [['teams']]])(
    'for %j is neither Nest nor a database nor a schema of the API',
    async (argv) => {
      // Each module that is loaded is told on standard error.
      const { stderr } = await promisify(execFile)(
        process.execPath,
        [
          '--no-warnings',
          '--import',
          `data:text/javascript,${encodeURIComponent(`import { register } from 'node:module'; register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(TELLING)}));`)}`,
          path.join(ROOT, 'dist/src/main.js'),
          ...argv,
        ],
        { env: { ...process.env, BURSAR_URL: 'http://127.0.0.1:1', BURSAR_API_KEY: 'bursar_none' } },
      ).catch((error: { stderr: string }) => error);
      const loaded = stderr.split('\n').filter((line) => line.startsWith('loaded '));
      // What is loaded is told at all.
      expect(loaded.some((line) => line.includes('/src/cli/program.js'))).toBe(true);
      expect(loaded.some((line) => line.includes('/node_modules/commander/'))).toBe(true);
      expect(
        loaded.filter((line) => /node_modules\/(@nestjs|pg|typeorm|fastify|@aws-sdk|yaml|echarts)\//.test(line)),
      ).toEqual([]);
      expect(loaded.filter((line) => /\/src\/(store|web|lab|providers|formats|rendering)\//.test(line))).toEqual([]);
    },
  );
});
