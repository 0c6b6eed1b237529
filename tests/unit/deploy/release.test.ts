/** What is released: the bill of materials is made of the lock file, in CycloneDX, and holds what is shipped alone. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ROOT } from '../../support/source.js';

interface Bill {
  readonly bomFormat: string;
  readonly components: readonly { readonly name: string; readonly version: string; readonly purl: string }[];
}

it('lies beside the release, and names every package that is shipped with its version', async () => {
  const release = await readFile(`${ROOT}/.github/workflows/release.yml`, 'utf8');
  expect(release).toMatch(
    /node scripts\/sbom\.mjs > bursar-sbom\.cdx\.json\n.*gh release create .* bursar-sbom\.cdx\.json/s,
  );
  const { stdout } = await promisify(execFile)('node', ['scripts/sbom.mjs'], { cwd: ROOT, maxBuffer: 1 << 26 });
  const bill = JSON.parse(stdout) as Bill;
  expect(bill.bomFormat).toBe('CycloneDX');
  const { dependencies, devDependencies } = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as Record<
    'dependencies' | 'devDependencies',
    Record<string, string>
  >;
  const named = new Set(bill.components.map(({ name }) => name));
  expect(Object.keys(dependencies).filter((name) => !named.has(name))).toEqual([]);
  // Of what is not shipped, whatever nothing that is shipped needs.
  expect(['vitest', 'oxlint', 'playwright-core'].filter((name) => name in devDependencies && named.has(name))).toEqual(
    [],
  );
  expect(bill.components.every(({ purl, version }) => purl.startsWith('pkg:npm/') && version !== '')).toBe(true);
});
