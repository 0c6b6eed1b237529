/** What killed processes were taking as uploads is removed; that of others is not. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { clearUploads, withUpload } from '../../../src/web/body.js';

async function* chunks(): AsyncGenerator<Buffer> {
  yield Buffer.from('a bill');
}

it('goes with the process that took it, and lives as long as it', async () => {
  const own = `bursar-upload-${hostname().replace(/[^\w.]/g, '_')}-`;
  const of = async (name: string): Promise<string> => {
    const folder = await mkdtemp(path.join(tmpdir(), name));
    await writeFile(path.join(folder, 'bill.csv'), 'a bill');
    return folder;
  };
  // No process has a number beyond the kernel's greatest (4,194,304).
  const [gone, elsewhere, parents] = [
    await of(`${own}99999999-`),
    await of('bursar-upload-other-99999999-'),
    await of(`${own}${process.ppid}-`),
  ];
  try {
    await clearUploads();
    expect([gone, elsewhere, parents].map((one) => existsSync(one))).toEqual([false, true, true]);
    const before = new Set(await readdir(tmpdir()));
    await withUpload(chunks(), 'bill.csv', async ({ path: file }) => {
      expect(path.basename(path.dirname(file))).toMatch(new RegExp(`^${own}${process.pid}-`));
    });
    expect(
      (await readdir(tmpdir())).filter((name) => name.startsWith(`${own}${process.pid}-`) && !before.has(name)),
    ).toEqual([]);
  } finally {
    for (const one of [elsewhere, parents]) await rm(one, { recursive: true, force: true });
  }
});
